"""What the daemon needs from the world, as protocols, each with an in-memory twin."""
