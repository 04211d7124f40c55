"""Where training runs live, and what is in a run folder: known to those who write and who read."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

CONFIG = "config.json"
VOCABULARY = "vocab.json"
METRICS = "metrics.jsonl"
SNAPSHOTS = "snapshots.safetensors"
HISTORY = "history.safetensors"  # the snapshots of a shipped demo, in half the bytes
MODEL = "model.safetensors"
JOB = ".job"  # the id of the job that trains it, for a visitor who comes back
OWNER = ".owner"  # the digest of the visitor who started it
TEXT = "text.txt"  # a visitor's own, to train on

# What a file system, a URL and run:NAME@STEP all take; no leading dot, so nothing is hidden.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def runs_folder() -> Path:
    """Where runs live: ``$POSVIZ_RUNS``, else a folder in the user's data directory."""
    if chosen := os.environ.get("POSVIZ_RUNS"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "posviz" / "runs"


def snapshot_name(step: int) -> str:
    """Name of a snapshot's tensor, ``step-000123``."""
    return f"step-{step:06d}"
