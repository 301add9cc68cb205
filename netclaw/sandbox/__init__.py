"""Confines judged commands: what a tool can see, use and leave behind (decisions 82 to 84)."""
