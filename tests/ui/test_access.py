"""The operator decides what visitors may open; the server's own Hub token is nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from posviz.ui import access


@pytest.fixture(autouse=True)
def pasted(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the visitor pasted, in place of a running page."""
    state: dict[str, str] = {}
    monkeypatch.setattr(access.st, "session_state", state)
    for name in (access.LOCAL_PATHS, access.HUB_TOKEN):
        monkeypatch.delenv(name, raising=False)
    return state


def test_no_token_is_sent_unless_somebody_gave_one(
    pasted: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert access.visitor_access().token is False
    monkeypatch.setenv(access.HUB_TOKEN, "server")
    assert access.visitor_access().token is True
    pasted[access.PASTED] = " hf_mine "
    assert access.visitor_access().token == "hf_mine"


def test_a_visitor_without_a_token_gets_none_of_the_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_server")
    assert access.visitor_access().token is False


def test_paths_can_be_switched_off_or_kept_to_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert access.visitor_access().local_paths
    monkeypatch.setenv(access.LOCAL_PATHS, "OFF")
    assert not access.visitor_access().local_paths
    monkeypatch.setenv(access.LOCAL_PATHS, str(tmp_path))
    assert access.visitor_access().local_root == tmp_path.resolve()
