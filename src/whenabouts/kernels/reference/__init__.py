"""The slow, obvious twin of each kernel, which defines the meaning."""
