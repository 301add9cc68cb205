"""Channels: one process each, an ordinary client of the gateway.

`host` runs what all channels share; a channel adds one `driver` module and touches nothing else.
"""
