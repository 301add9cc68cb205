"""The database: one file, one writer thread with group commit, a few read-only connections."""
