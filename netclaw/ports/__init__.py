"""What the daemon needs from the world, as protocols; each has an in-memory twin in netclaw.testing."""
