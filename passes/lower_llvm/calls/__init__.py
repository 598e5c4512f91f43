"""Machine code that is no kernel: calls of ops and of traced functions, lists of launches,
threads."""
