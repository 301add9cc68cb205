"""The pure core: rules over values; no I/O, no clock, no randomness."""
