"""Reads, checks and edits what the operator configured; supervisor and command line only.

Importing this package costs nothing: each module is imported where it is needed, so that a short
command like `netclaw status` never loads the schema.
"""
