"""The command line: thin, quick to start, the same words for people and scripts.

Every command lives in its own module and is imported only when it is called, so that a short one
never pays for what a long one needs.
"""
