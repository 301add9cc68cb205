"""Thin calls to the kernel that the standard library does not offer; no rules here."""
