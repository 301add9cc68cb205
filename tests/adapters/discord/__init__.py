"""Discord against its fake."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # Its voice part, which nobody uses, loads a module that later Pythons have no more.
    warnings.simplefilter("ignore", DeprecationWarning)
    import discord as discord
