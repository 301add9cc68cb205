"""Model clients: one HTTP stack, no vendor SDK (decision 74)."""
