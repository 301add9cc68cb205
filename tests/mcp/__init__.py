"""Tool servers: real ones, over pipes and loopback HTTP."""
