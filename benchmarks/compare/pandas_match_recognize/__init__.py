"""The PyPI package pandas-match-recognize as a peer."""
