"""What a program has loaded after its imports, seen in an interpreter of its own."""

from __future__ import annotations

import ast
import subprocess
import sys


def loaded(imported: str, among: tuple[str, ...]) -> list[str]:
    """Those `among` the modules that are there once `imported` (`a, b.c`) was imported."""
    program = f"import sys, {imported}\nprint([name for name in {among!r} if name in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    )
    found: list[str] = ast.literal_eval(shown.stdout)
    return found
