"""The supervisor: owns the database, the routing and the public API; survives its sessions."""
