"""The session rules: commands in, events and effects out."""
