"""netclaw: an always-on agent daemon in which every conversation is its own process."""

__version__ = "0.1.0"
