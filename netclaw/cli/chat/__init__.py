"""Conversations in the terminal: one message (headless) or with a person (interactive)."""
