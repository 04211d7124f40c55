"""Exit 0 while the dashboard answers, 1 when it does not: the image's health check.

Follows Streamlit's own settings for the port and for a path prefix. Plain Python, since
slim images have no curl.
"""

import os
import sys
import urllib.request

SECONDS = 5  # well under the ten that the check as a whole may take


def address() -> str:
    """Where this container's own server answers."""
    port = os.environ.get("STREAMLIT_SERVER_PORT", "8501")
    prefix = os.environ.get("STREAMLIT_SERVER_BASE_URL_PATH", "").strip("/")
    return "/".join(part for part in (f"http://127.0.0.1:{port}", prefix, "_stcore/health") if part)


def healthy() -> bool:
    """Whether the server says that it is well."""
    # No proxy: HTTP_PROXY, set for the Hub, must not carry a request to this very container.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address(), timeout=SECONDS) as answer:
            return answer.status == 200
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(not healthy())
