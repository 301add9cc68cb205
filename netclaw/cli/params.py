"""Values of parameters that several commands share."""

from __future__ import annotations

import click

SEQ = click.IntRange(0, 2**63 - 1)
"""A position in a journal; SQLite and the protocol hold no larger one."""
ROWS = click.IntRange(0, 2**32 - 1)
"""A number of rows, 0 for all; the protocol holds no larger one."""
