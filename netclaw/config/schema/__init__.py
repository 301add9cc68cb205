"""The configuration as one model: the source of names, types, defaults, bounds and meaning."""

from netclaw.config.schema.root import Config

__all__ = ["Config"]
