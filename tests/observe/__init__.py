"""Logs and crash reports."""
