"""Tools of other programs, by the Model Context Protocol.

`link` is the session's side and imports no library of the protocol. Everything else runs in a
process of its own, `python -I -m netclaw.mcp`, one per session and started by its first need.
"""
