"""What visitors of this server may open, as its operator set it in the environment.

``POSVIZ_LOCAL_PATHS``
    ``on`` (the default): paths of the machine that runs the app may be opened. ``off``: only
    uploads, the Hub and what is shipped. A folder: only what lies inside it.
"""

from __future__ import annotations

import os
from pathlib import Path

from posviz.sources import Access

LOCAL_PATHS = "POSVIZ_LOCAL_PATHS"


def visitor_access() -> Access:
    """The access of every visitor; the server's own Hub token is never part of it."""
    setting = os.environ.get(LOCAL_PATHS, "on").strip()
    if setting.lower() in {"on", ""}:
        return Access()
    if setting.lower() == "off":
        return Access(local_paths=False)
    return Access(local_root=Path(setting).expanduser().resolve())
