"""A Python environment in which a package brings channels, beside netclaw as it is here.

They are `loop` and `pool`, which is the same by another name, and `torn`, whose code is not there.

Made of a link and a few small files, in a moment: an interpreter finds its environment by the
`pyvenv.cfg` above it, and packages by their `dist-info`.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: loop-channel\nVersion: 1.0\n"
CREATE = "tests.adapters.loop.driver:create"
TORN = "tests.adapters.loop.absent:create"
ENTRY_POINTS = f"[netclaw.channels]\nloop = {CREATE}\npool = {CREATE}\ntorn = {TORN}\n"


def with_loop_channel(folder: Path) -> Path:
    """Make the environment; returns its interpreter."""
    base = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python"
    python.symlink_to(base)
    # The parser of commands is looked for beside the interpreter.
    (folder / "bin" / "shfmt").symlink_to(Path(sys.executable).with_name("shfmt"))
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    ours = sysconfig.get_path("purelib")
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    info = packages / "loop_channel-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return python
