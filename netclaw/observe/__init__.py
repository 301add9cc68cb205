"""What the daemon tells about itself: log lines as JSON, and a report when it crashes."""
