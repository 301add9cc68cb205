"""The model clients against real servers on loopback."""
