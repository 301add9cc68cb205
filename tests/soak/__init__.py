"""The soak: random histories with faults, and a checker of what they left that knows no netclaw."""
