"""The embedded model, for real."""
