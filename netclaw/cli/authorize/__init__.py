"""Explains decisions of authorization without running anything, for people and for `doctor`."""
