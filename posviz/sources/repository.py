"""The Hub as huggingface_hub sees it: what a repository lists, where its files lie, who may read.

Every error of that library and of the connection becomes one sentence here. The token saved
on this machine is never sent unless the visitor's :class:`Access` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from posviz.errors import SourceError
from posviz.sources.cache import get_listing, put_listing
from posviz.sources.ranges import Address

if TYPE_CHECKING:
    from posviz.sources.access import Access
    from posviz.sources.readers import Traffic

_TIMEOUT = 10.0  # seconds
_MOST_FILES = 10_000  # of a listing that are looked at, as of a folder
_KINDS = {"model": "model", "dataset": "data set"}
_TOKEN = re.compile(r"[!-~]{1,1000}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def spoken(address: str) -> str:
    """An address as a sentence begins with it: ``The Hub (huggingface.co)``."""
    return f"The Hub ({urlsplit(address).hostname or address})"


@dataclass(frozen=True)
class Repository:
    """A Hub model or data set (``kind``), and the visitor who asks for it."""

    id: str
    revision: str
    access: Access
    kind: str = "model"

    @property
    def endpoint(self) -> str:
        """Address of the Hub or its mirror."""
        from huggingface_hub import constants

        return (self.access.endpoint or str(constants.ENDPOINT)).rstrip("/")

    @property
    def is_offline(self) -> bool:
        """Whether the network must not be asked."""
        from huggingface_hub import constants

        return bool(
            constants.is_offline_mode() if self.access.offline is None else self.access.offline
        )

    @property
    def token(self) -> str | bool:
        """What to send: the visitor's token, or explicitly none.

        Raises
        ------
        SourceError
            The text cannot be a token: it would end up in a header of every request.
        """
        token = self.access.token
        if isinstance(token, str) and not _TOKEN.fullmatch(token):
            raise SourceError(
                "The Hub token holds characters that no token has: spaces, line ends or letters "
                "beyond ASCII. Copy it again from the Hub's settings."
            )
        return token


@dataclass(frozen=True)
class Listed:
    """One file of a repository: its size, and whether it is stored apart (LFS, Xet)."""

    size: int
    apart: bool


def listing(repository: Repository, traffic: Traffic) -> tuple[str, dict[str, Listed], str | None]:
    """Commit and files of a revision, and a warning where they come from an earlier visit."""
    folder = repository.access.cache_folder() / "hub"
    plain = repository.kind == "model"
    name = repository.id if plain else f"{repository.kind}s/{repository.id}"
    key = (repository.endpoint, name, repository.revision)
    public = repository.access.token is False
    kept = get_listing(folder, *key) if public else None
    if kept is not None and (repository.is_offline or _COMMIT.fullmatch(repository.revision)):
        return (*_listed(kept), None)
    if repository.is_offline:
        raise SourceError(
            f"{repository.id} has not been opened here before, and this is offline mode "
            f"(HF_HUB_OFFLINE). Open a local file or a demo, or go online."
        )
    try:
        found = _ask(repository, traffic)
    except _UnreachableError as err:
        if kept is None:
            raise SourceError(str(err)) from err
        said = f"{err} What was read of {repository.id} earlier is shown."
        return (*_listed(kept), said)
    if public:
        put_listing(folder, found, *key)
    return (*_listed(found), None)


def _listed(listing: dict[str, object]) -> tuple[str, dict[str, Listed]]:
    files = listing.get("files")
    pairs = files.items() if isinstance(files, dict) else ()
    return str(listing.get("commit")), {name: Listed(int(f[0]), bool(f[1])) for name, f in pairs}


class _UnreachableError(Exception):
    """The Hub gave no answer; text is a sentence."""


def _ask(repository: Repository, traffic: Traffic) -> dict[str, object]:
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    host = spoken(repository.endpoint)
    try:
        traffic.add(requests=1)
        hub = HfApi(endpoint=repository.endpoint, token=repository.token)
        ask = hub.dataset_info if repository.kind == "dataset" else hub.model_info
        info = ask(
            repository.id,
            revision=repository.revision,
            files_metadata=True,
            timeout=_TIMEOUT,
            token=repository.token,
        )
    except OfflineModeIsEnabled as err:
        raise _UnreachableError(f"{host} was not asked: HF_HUB_OFFLINE is set.") from err
    except HfHubHTTPError as err:
        raise refused(err, repository) from err
    except HFValidationError as err:
        raise SourceError(no_id(repository.id, kind=repository.kind)) from err
    except (httpx2.HTTPError, OSError) as err:
        raise _UnreachableError(str(unreachable(repository))) from err
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as err:
        raise SourceError(f"{host} answered with something that is no model listing.") from err
    files: dict[str, list[int]] = {}
    for sibling in islice(info.siblings or (), _MOST_FILES):
        name, size = sibling.rfilename, sibling.size
        plain = re.fullmatch(r"[\w][\w.+ -]*(?:/[\w][\w.+ -]*)*", name)
        if plain and type(size) is int and size >= 0:
            files[name] = [size, int(sibling.lfs is not None)]
    if not info.sha or not _COMMIT.fullmatch(info.sha):
        raise SourceError(f"{host} named no commit for {repository.id}.")
    return {"commit": info.sha, "files": files}


def locate(
    repository: Repository, commit: str, path: str, listed: Listed, traffic: Traffic
) -> Address:
    """Where a file lies: its page for small files, the signed address for those stored apart."""
    import httpx2
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    if repository.is_offline:
        raise SourceError(
            f"{path} of {repository.id} was not read here before, and this is offline mode."
        )
    headers = build_hf_headers(token=repository.token)
    url = hf_hub_url(
        repository.id,
        path,
        repo_type=repository.kind,
        revision=commit,
        endpoint=repository.endpoint,
    )
    if not listed.apart:
        return Address(url, headers)
    try:
        traffic.add(requests=1)
        found = get_hf_file_metadata(
            url, token=repository.token, endpoint=repository.endpoint, timeout=_TIMEOUT
        )
    except OfflineModeIsEnabled as err:
        raise SourceError(f"{path} was not read here before, and HF_HUB_OFFLINE is set.") from err
    except HfHubHTTPError as err:
        raise refused(err, repository) from err
    except (httpx2.HTTPError, OSError) as err:
        host = spoken(url)
        raise SourceError(f"{host} cannot be reached. Check the network and try again.") from err
    if found.size != listed.size:
        raise SourceError(f"{path} of {repository.id} changed while it was being read. Try again.")
    same_host = urlsplit(found.location).netloc == urlsplit(repository.endpoint).netloc
    return Address(found.location, headers if same_host else {})


def unreachable(repository: Repository) -> SourceError:
    """The sentence for a Hub that gives no answer."""
    host = spoken(repository.endpoint)
    return SourceError(
        f"{host} cannot be reached. Check the network; local files and demos open without it."
    )


def refused(err: Exception, repository: Repository) -> SourceError:
    """The sentence for an answer that is a refusal; no token is ever part of it."""
    from huggingface_hub import errors

    status = getattr(getattr(err, "response", None), "status_code", None)
    page = f"{repository.endpoint}/{repository.id}"
    if isinstance(err, errors.GatedRepoError):
        if status == 403:
            return SourceError(
                f"{repository.id} is gated and this token has no access to it yet. Ask for "
                f"access on {page}, then open it again."
            )
        return SourceError(
            f"{repository.id} is gated: it opens only for people who are logged in and were "
            f"given access. Ask for access on {page} and give a Hub token."
        )
    if isinstance(err, errors.RevisionNotFoundError):
        return SourceError(
            f"{repository.id} has no revision {repository.revision}. Give a branch, tag or "
            f"commit that its page lists, or leave it out."
        )
    if isinstance(err, errors.RepositoryNotFoundError) or status == 404:
        return SourceError(
            f"There is no {_KINDS[repository.kind]} {repository.id} on the Hub, or it is private. "
            f"Check the spelling, or give a token that may read it."
        )
    if status == 401:
        return SourceError("The Hub does not accept this token. Give a valid one, or none.")
    if status == 429:
        return SourceError("The Hub asks to wait: too many requests. Try again in a minute.")
    return SourceError(
        f"The Hub answered {status or 'with an error'} for {repository.id}. Try again later."
    )


def no_id(text: str, *, kind: str = "model") -> str:
    """The sentence for a text that cannot be the id of a model, or of a data set."""
    if kind != "model":
        return f"{text or '(nothing)'} cannot be the id of a Hub data set; write OWNER/NAME."
    return (
        f"{text} cannot be the id of a Hub model; write hub:OWNER/NAME, as in the address of the "
        f"model's page."
    )
