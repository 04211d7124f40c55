"""A small Hub on loopback, which counts and can misbehave; the real huggingface_hub talks to it."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from posviz.sources import Access

if TYPE_CHECKING:
    import numpy as np

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Request(NamedTuple):
    """What the servers saw: ``hub`` or ``cdn``, method, path, range, status, bytes, token sent."""

    server: str
    method: str
    path: str
    range: str | None
    status: int
    sent: int
    authorised: bool


@dataclass
class FakeHub:
    """Two servers as the real Hub has them: pages and listings, and signed addresses elsewhere."""

    repos: dict[str, Path] = field(default_factory=dict)
    log: list[Request] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)  # what clients call themselves
    gated: dict[str, str] = field(default_factory=dict)  # repository -> the token that opens it
    ignore_ranges: bool = False
    expire_once: bool = False  # the first signed address is refused
    answer: int | None = None  # a status for every listing
    listing: bytes | None = None  # and a body
    silent: bool = False  # hang up without an answer
    shift: int = 0  # answer with a range this far from the one asked for
    large: int = 10_000  # files of this size are stored apart
    hold: int | None = None  # bytes of a stored file after which the answer waits for `go`
    go: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    cdn_url: str = ""

    def access(self, cache: Path, **rights: object) -> Access:
        return Access(endpoint=self.url, cache=cache, **rights)  # type: ignore[arg-type]

    def files(self, repo: str) -> dict[str, Path]:
        root = self.repos[repo]
        return {p.relative_to(root).as_posix(): p for p in sorted(root.rglob("*")) if p.is_file()}

    def weight_requests(self) -> list[Request]:
        """HEADs and ranges of files that are stored apart."""
        return [r for r in self.log if r.server == "cdn" or r.method == "HEAD"]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Quiet."""

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        path = unquote(self.path.split("?")[0])
        if self.server.hub.silent:
            self.close_connection = True
            return
        if self.server.role == "cdn":
            self._cdn(path)
        elif path == "/api/models":
            self._search()
        elif path.startswith(("/api/models/", "/api/datasets/")):
            self._listing(path)
        else:
            self._resolve(path)

    def _send(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        hub = self.server.hub
        token = self.headers.get("Authorization") is not None
        hub.agents.add(self.headers.get("User-Agent") or "")
        hub.log.append(
            Request(
                self.server.role, self.command, unquote(self.path.split("?")[0]),
                self.headers.get("Range"), status, len(body), token,
            )
        )  # fmt: skip
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            try:
                if hub.hold is not None and len(body) > hub.hold and self.server.role == "cdn":
                    self.wfile.write(body[: hub.hold])
                    hub.go.wait(60)
                    body = body[hub.hold :]
                self.wfile.write(body)
            except OSError:
                self.close_connection = True

    def _error(self, status: int, code: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": code} if code else {}
        self._send(status, headers, b"{}")

    def _may_read(self, repo: str) -> bool:
        hub = self.server.hub
        if repo not in hub.repos:
            self._error(401, "RepoNotFound")
        elif repo in hub.gated and self.headers.get("Authorization") != f"Bearer {hub.gated[repo]}":
            self._error(403 if self.headers.get("Authorization") else 401, "GatedRepo")
        else:
            return True
        return False

    def _search(self) -> None:
        hub = self.server.hub
        if hub.answer is not None:
            self._error(hub.answer, "")
            return
        if hub.listing is not None:
            self._send(200, {"Content-Type": "application/json"}, hub.listing)
            return
        asked = parse_qs(urlsplit(self.path).query)
        found = [
            {"_id": "0" * 24, "id": repo, "downloads": 9, "pipeline_tag": "text-generation"}
            for repo in hub.repos
            if asked["search"][0] in repo
        ]
        body = json.dumps(found[: int(asked["limit"][0])]).encode()
        self._send(200, {"Content-Type": "application/json"}, body)

    def _listing(self, path: str) -> None:
        hub = self.server.hub
        found = re.fullmatch(r"/api/(?:models|datasets)/(.+?)(?:/revision/(.+))?", path)
        assert found is not None
        if hub.answer is not None:
            self._error(hub.answer, "")
        elif hub.listing is not None:
            self._send(200, {"Content-Type": "application/json"}, hub.listing)
        elif not self._may_read(found[1]):
            return
        elif found[2] not in (None, "main", COMMIT):
            self._error(404, "RevisionNotFound")
        else:
            siblings = []
            for name, file in hub.files(found[1]).items():
                size = file.stat().st_size
                sibling: dict[str, object] = {"rfilename": name, "size": size, "blobId": "0" * 40}
                if size >= hub.large:
                    sibling["lfs"] = {"sha256": "0" * 64, "size": size, "pointerSize": 134}
                siblings.append(sibling)
            info = {"_id": "0" * 24, "id": found[1], "sha": COMMIT, "siblings": siblings}
            headers = {"Content-Type": "application/json"}
            self._send(200, headers, json.dumps(info).encode())

    def _resolve(self, path: str) -> None:
        hub = self.server.hub
        found = re.fullmatch(r"/(?:datasets/)?(.+?)/resolve/([^/]+)/(.+)", path)
        if found is None:
            self._error(404, "")
            return
        if not self._may_read(found[1]):
            return
        assert found[2] == COMMIT, "every read must be pinned to the commit"
        file = hub.files(found[1]).get(found[3])
        if file is None:
            self._error(404, "EntryNotFound")
        elif file.stat().st_size >= hub.large:
            digest = hashlib.sha256(str(file).encode()).hexdigest()
            self.server.blobs[digest] = file
            headers = {
                "X-Repo-Commit": COMMIT,
                "X-Linked-Etag": f'"{digest}"',
                "X-Linked-Size": str(file.stat().st_size),
                "Location": f"{hub.cdn_url}/{digest}?Signature=x",
            }
            self._send(302, headers)
        else:
            tag = hashlib.sha256(file.read_bytes()).hexdigest()[:40]  # the Hub's cache goes by it
            self._ranged(file, {"X-Repo-Commit": COMMIT, "ETag": f'"{tag}"'})

    def _cdn(self, path: str) -> None:
        hub = self.server.hub
        if hub.expire_once:
            hub.expire_once = False
            self._send(403, {})
        else:
            self._ranged(self.server.blobs[path[1:]], {"ETag": '"another"'})

    def _ranged(self, file: Path, headers: dict[str, str]) -> None:
        data = file.read_bytes()
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if found is None or self.server.hub.ignore_ranges:
            self._send(200, headers, data)
            return
        first, last = int(found[1]), min(int(found[2]), len(data) - 1)
        first, last = first + self.server.hub.shift, last + self.server.hub.shift
        if first >= len(data):
            self._send(416, {"Content-Range": f"bytes */{len(data)}"})
            return
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        self._send(206, headers, data[first : last + 1])


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, role: str, hub: FakeHub, blobs: dict[str, Path]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.role, self.hub, self.blobs = role, hub, blobs
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Quiet: a client that stops reading is part of the tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def fake_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A Hub on loopback; the real huggingface_hub talks to it."""
    import huggingface_hub
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    hub = FakeHub()
    blobs: dict[str, Path] = {}
    servers = [_Server("hub", hub, blobs), _Server("cdn", hub, blobs)]
    hub.url, hub.cdn_url = (server.url for server in servers)
    yield hub
    huggingface_hub.close_session()
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def gpt2_repo(
    fake_hub: FakeHub, model_folder: Callable[..., Path], rows: Callable[..., np.ndarray]
) -> tuple[FakeHub, np.ndarray]:
    """org/gpt2: GPT-2's own table size beside a token table, so that reading it all would show."""
    arrays = {
        "transformer.wte.weight": rows(4000, 768),
        "transformer.wpe.weight": rows(1024, 768),
        "transformer.h.0.attn.c_attn.weight": rows(768, 2304),
    }
    fake_hub.repos["org/gpt2"] = model_folder(arrays, {"model_type": "gpt2", "n_positions": 1024})
    return fake_hub, arrays["transformer.wpe.weight"]
