"""Pattern queries over events whose time cannot be trusted."""
