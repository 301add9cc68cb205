"""A netclaw home in a temporary folder."""

from __future__ import annotations

from pathlib import Path

from netclaw.config.home import Home, find_home
from netclaw.config.load import load_config
from netclaw.config.loaded import LoadedConfig

ONE_MODEL = """
{
  // how the model is reached
  "Providers": {"fake": {"Type": "openai-compatible", "Endpoint": "http://127.0.0.1:9/v1"}},
  "Models": {
    "Definitions": {"main": {"Provider": "fake", "ModelId": "m1", "ContextWindow": 16000}},
    "Roles": {"Main": "main"}, // the only role
  },
}
"""


class TempHome:
    """Files of a home and what they load as."""

    def __init__(self, root: Path) -> None:
        self.environ = {"NETCLAW_HOME": str(root)}

    @property
    def home(self) -> Home:
        """The home as the environment names it."""
        return find_home(self.environ)

    @property
    def text(self) -> str:
        """netclaw.json as it is."""
        return self.home.config_file.read_text()

    def write(self, text: str | bytes) -> None:
        """Write netclaw.json."""
        self.home.config_dir.mkdir(parents=True, exist_ok=True)
        data = text if isinstance(text, bytes) else text.encode()
        self.home.config_file.write_bytes(data)

    def write_secrets(self, text: str) -> None:
        """Write secrets.json."""
        self.home.config_dir.mkdir(parents=True, exist_ok=True)
        self.home.secrets_file.write_text(text)

    def load(self, **overrides: str) -> LoadedConfig:
        """Load it, with further environment variables."""
        return load_config(self.home, self.environ | overrides)
