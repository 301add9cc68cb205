"""Numbered migrations as SQL files; see `netclaw.store.migrations`."""
