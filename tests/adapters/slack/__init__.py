"""Slack against its fake."""
