"""Code generated from proto/netclaw/wire/v1 (git-ignored except this file)."""
