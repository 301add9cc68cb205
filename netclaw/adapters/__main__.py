"""`python -I -m netclaw.adapters NAME`: see `process`."""

from __future__ import annotations

from netclaw.adapters.process import run

if __name__ == "__main__":
    run()
