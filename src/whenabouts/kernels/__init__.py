"""Arrays to arrays: everything that is compiled."""

from whenabouts.kernels.cache import choose_cache_directory

choose_cache_directory()
