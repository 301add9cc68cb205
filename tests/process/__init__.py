"""The daemon as it really runs: its own processes, its own database, killed at will."""
