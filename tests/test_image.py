"""What can be known of the image without building it, and its health check for real."""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[1]
HEALTH = PROJECT / "docker" / "health.py"


class Step(NamedTuple):
    word: str
    rest: str


def _steps() -> list[Step]:
    text = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def _all(word: str) -> list[str]:
    return [step.rest for step in _steps() if step.word == word]


def _environment() -> dict[str, str]:
    pairs = shlex.split(" ".join(_all("ENV")))
    return dict(pair.split("=", maxsplit=1) for pair in pairs)


def test_the_base_is_pinned_to_a_version_and_both_stages_share_it() -> None:
    images = [rest.split()[0] for rest in _all("FROM")]
    assert len(images) == 2
    assert len(set(images)) == 1, "the venv of one stage needs the very Python of the other"
    version = re.fullmatch(r"python:3\.(\d+)-slim-\w+", images[0])
    assert version is not None
    assert int(version[1]) >= 11


def test_what_is_installed_is_pinned_exactly() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (PROJECT / name).read_text(encoding="utf-8").splitlines():
            requirement = line.partition("#")[0].strip()
            if requirement and not requirement.startswith("-r "):
                assert re.fullmatch(r"[\w.-]+==[\w.]+", requirement), f"{name}: {requirement}"


def test_it_does_not_run_as_root() -> None:
    words = [step.word for step in _steps()]
    user = _all("USER")[-1]
    assert int(user) >= 1000, "a number: a platform cannot tell what a name stands for"
    assert f"--uid {user} " in " ".join(_all("RUN"))
    assert words.index("USER") > len(words) - 1 - words[::-1].index("FROM"), "of the last stage"
    assert "RUN" not in words[words.index("USER") :]


def test_the_port_is_one_number_everywhere() -> None:
    port = _environment()["STREAMLIT_SERVER_PORT"]
    config = tomllib.loads((PROJECT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert _all("EXPOSE") == [port]
    assert str(config["server"].get("port", 8501)) == port
    assert re.search(rf"^PORT +\?= {port}$", (PROJECT / "Makefile").read_text(), re.MULTILINE)


def test_logs_appear_at_once_and_the_server_listens_outside_the_container() -> None:
    environment = _environment()
    assert environment["PYTHONUNBUFFERED"] == "1"
    assert environment["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"


def test_starting_it_asks_no_service_on_the_internet() -> None:
    config = tomllib.loads((PROJECT / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert config["browser"] == {"gatherUsageStats": False, "serverAddress": "localhost"}


def test_plotly_is_put_where_the_figure_component_asks_for_it() -> None:
    built = " ".join(_all("RUN"))
    assert "plotly/package_data/plotly.min.js static/" in built


def _sent_to_the_build(path: str) -> bool:
    """Whether .dockerignore lets a path through: the last rule that fits it decides."""
    sent = True
    parents = [*reversed([str(p) for p in Path(path).parents if str(p) != "."]), path]
    for line in (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            keep = line.startswith("!")
            rule = line.lstrip("!")
            tails = [part for whole in parents for part in (whole, whole.rsplit("/")[-1])]
            names = tails if rule.startswith("**/") else parents
            if any(fnmatch.fnmatchcase(name, rule.removeprefix("**/")) for name in names):
                sent = keep
    return sent


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("app.py", True),
        ("pages/overview.py", True),
        ("posviz/ui/figure.js", True),
        ("posviz/data/demos/gpt-mini/model.safetensors", True),
        (".streamlit/config.toml", True),
        ("docker/health.py", True),
        ("requirements.txt", True),
        ("posviz/__pycache__/table.cpython-311.pyc", False),
        (".streamlit/secrets.toml", False),
        (".git/config", False),
        (".venv/bin/python", False),
        ("tests/conftest.py", False),
    ],
)
def test_only_what_runs_goes_into_the_image(path: str, sent: bool) -> None:
    assert _sent_to_the_build(path) is sent


def test_the_health_check_calls_python_and_a_file_that_is_inside() -> None:
    (check,) = _all("HEALTHCHECK")
    options, command = check.split("CMD")
    assert re.findall(r'"([^"]+)"', command) == ["python", HEALTH.relative_to(PROJECT).as_posix()]
    assert "--timeout=10s" in options
    assert "curl" not in (PROJECT / "Dockerfile").read_text(encoding="utf-8")


class _Server(BaseHTTPRequestHandler):
    """A server as Streamlit is under the prefix /tables, and only there."""

    def do_GET(self) -> None:
        well = self.path == "/tables/_stcore/health"
        self.send_response(200 if well else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def _check(**settings: str) -> int:
    environment = {"PATH": os.environ["PATH"], **settings}
    done = subprocess.run([sys.executable, HEALTH], env=environment, timeout=10, check=False)
    return done.returncode


@pytest.mark.parametrize("prefix", ["tables", "/tables/"])
def test_the_health_check_follows_port_and_prefix(port: int, prefix: str) -> None:
    settings = {"STREAMLIT_SERVER_PORT": str(port), "STREAMLIT_SERVER_BASE_URL_PATH": prefix}
    assert _check(**settings) == 0


def test_the_health_check_does_not_ask_a_proxy(port: int) -> None:
    assert (
        _check(
            STREAMLIT_SERVER_PORT=str(port),
            STREAMLIT_SERVER_BASE_URL_PATH="tables",
            http_proxy="http://127.0.0.1:9",
        )
        == 0
    )


def test_the_health_check_fails_where_something_else_answers(port: int) -> None:
    assert _check(STREAMLIT_SERVER_PORT=str(port)) == 1


def test_the_health_check_fails_at_once_when_the_app_is_down() -> None:
    assert _check(STREAMLIT_SERVER_PORT="9") == 1


def test_the_health_check_fails_within_ten_seconds_when_the_app_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the call, never answers
        assert _check(STREAMLIT_SERVER_PORT=str(silent.getsockname()[1])) == 1
