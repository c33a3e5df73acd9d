"""Arrays to arrays: everything that is compiled."""
