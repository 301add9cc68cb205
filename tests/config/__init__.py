"""Configuration: loading, editing, secrets, watching."""
