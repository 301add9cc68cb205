#!/usr/bin/env bash
# Regenerates netclaw/wire/v1 from proto/ with the same function that the build hook calls.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PYTHON:-.venv/bin/python}" tools/hatch_build.py
