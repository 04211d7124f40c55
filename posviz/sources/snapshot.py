"""A whole Hub model on this machine: downloaded once, into the cache that the Hub's tools share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources import folders
from posviz.sources.companions import beside
from posviz.sources.folders import FileSet
from posviz.sources.hub import on_this_machine, repository_of
from posviz.sources.ranges import RemoteFile
from posviz.sources.readers import Traffic
from posviz.sources.repository import listing, locate, refused, unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from posviz.sources.access import Access
    from posviz.sources.repository import Listed, Repository


def download_size(ref: str, access: Access) -> tuple[str, int]:
    """Id of a Hub model, and the bytes that :func:`download` would still have to fetch.

    Raises
    ------
    SourceError
        As :func:`download`.
    """
    repository = _allowed(ref, access)
    commit, files = _listed(repository)
    return repository.id, sum(files[name].size for name in _missing(repository, commit, files))


def download(
    ref: str, access: Access, told: Callable[[str], None] = lambda sentence: None
) -> tuple[Path, str]:
    """The folder of a Hub model on this machine, and the model's short name.

    Only files that belong to the weights that posviz opens are fetched: not the same weights once
    more in another framework's format.

    Parameters
    ----------
    ref : str
        ``hub:OWNER/NAME``, with ``@REVISION`` if wanted, or a preset.
    access : Access
    told : function (sentence)
        Called before the download, with what and how much.

    Raises
    ------
    SourceError
        No such model, no rights, no network, no room, or a server that keeps no whole models.
    """
    repository = _allowed(ref, access)
    local = on_this_machine(ref, access) if repository.is_offline else None
    if local is not None:
        return local, _short(repository)
    commit, files = _listed(repository)
    wanted = _wanted(repository, commit, files)
    missing = _missing(repository, commit, files)
    if missing and not repository.is_offline:
        size = sum(files[name].size for name in missing)
        told(
            f"{repository.id}: the whole model is downloaded into the Hub's cache on this machine, "
            f"{size / 1e6:,.1f} MB."
        )
    return _fetched(repository, commit, wanted), _short(repository)


def _short(repository: Repository) -> str:
    return repository.id.rpartition("/")[2]


def _allowed(ref: str, access: Access) -> Repository:
    if not access.local_paths or access.local_root is not None:
        raise SourceError(
            f"{ref}: this server reads tables from the Hub but downloads no whole models. Make the "
            f"checkpoint on your own machine, with posviz extend."
        )
    return repository_of(ref, access)


def _listed(repository: Repository) -> tuple[str, dict[str, Listed]]:
    commit, files, warning = listing(repository, Traffic())
    if warning is not None:
        raise SourceError(warning)
    return commit, files


def _wanted(repository: Repository, commit: str, files: dict[str, Listed]) -> list[str]:
    """The weights that posviz opens, and what belongs to them."""
    traffic = Traffic()

    def reader(path: str) -> RemoteFile:
        return RemoteFile(
            path.rpartition("/")[2],
            files[path].size,
            lambda: locate(repository, commit, path, files[path], traffic),
            traffic,
            None,
        )

    found = FileSet(tuple(files), reader, repository.id, lambda path: files[path].size, remote=True)
    weights = folders.choose(found)
    return [*weights.files, *beside(found.names, weights)]


def _missing(repository: Repository, commit: str, files: dict[str, Listed]) -> list[str]:
    """The wanted files that are not in the Hub's cache on this machine."""
    from huggingface_hub import try_to_load_from_cache

    return [
        name
        for name in _wanted(repository, commit, files)
        if not isinstance(try_to_load_from_cache(repository.id, name, revision=commit), str)
    ]


def _fetched(repository: Repository, commit: str, wanted: list[str]) -> Path:
    import httpx2
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        for name in wanted:
            path = hf_hub_download(
                repository.id,
                name,
                revision=commit,
                token=repository.token,
                endpoint=repository.endpoint,
                local_files_only=repository.is_offline,
            )
    except LocalEntryNotFoundError as err:
        if repository.is_offline:
            raise SourceError(
                f"{repository.id} is not whole in the Hub's cache on this machine, and this is "
                f"offline mode (HF_HUB_OFFLINE). Go online once."
            ) from err
        raise unreachable(repository) from err
    except HfHubHTTPError as err:
        raise refused(err, repository) from err
    except httpx2.HTTPError as err:
        raise unreachable(repository) from err
    except OSError as err:
        raise SourceError(
            f"{repository.id} could not be downloaded whole ({err.strerror or err}). Make room in "
            f"the Hub's cache, or set HF_HOME to another place."
        ) from err
    return Path(path).parents[name.count("/")]
