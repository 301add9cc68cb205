"""Mattermost over loopback."""
