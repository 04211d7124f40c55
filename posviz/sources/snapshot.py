"""A whole Hub model on this machine: downloaded once, into the cache that the Hub's tools share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources import folders
from posviz.sources.companions import beside
from posviz.sources.hub import files_of, on_this_machine, repository_of
from posviz.sources.readers import Traffic
from posviz.sources.repository import listing, refused, unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from posviz.sources.access import Access
    from posviz.sources.repository import Listed, Repository


@dataclass(frozen=True, eq=False)
class Whole:
    """The files of a Hub model that belong to the weights that posviz opens, listed once.

    Not the same weights once more in another framework's format.

    Parameters
    ----------
    repository : Repository
    commit : str
    sizes : mapping from name to bytes
        Of the files, in the order in which they are fetched.
    """

    repository: Repository
    commit: str
    sizes: Mapping[str, int]

    @property
    def id(self) -> str:
        """The model's owner and name."""
        return self.repository.id

    @property
    def missing(self) -> int:
        """Bytes of the files that are not in the Hub's cache on this machine."""
        from huggingface_hub import try_to_load_from_cache

        return sum(
            size
            for name, size in self.sizes.items()
            if not isinstance(try_to_load_from_cache(self.id, name, revision=self.commit), str)
        )

    def fetch(self) -> Path:
        """The model's folder on this machine, once all files are in it.

        Raises
        ------
        SourceError
            No rights, no network or no room.
        """
        return _fetched(self.repository, self.commit, list(self.sizes))


def whole(ref: str, access: Access) -> Whole:
    """What a whole Hub model is made of; nothing of its weights is fetched yet.

    Parameters
    ----------
    ref : str
        ``hub:OWNER/NAME``, with ``@REVISION`` if wanted, or a preset.
    access : Access

    Raises
    ------
    SourceError
        No such model, no rights, no network, or a server that keeps no whole models.
    """
    return _whole(_allowed(ref, access))


def download(
    ref: str, access: Access, told: Callable[[str], None] = lambda sentence: None
) -> tuple[Path, str]:
    """The folder of a Hub model on this machine, and the model's short name.

    Parameters
    ----------
    ref, access
        As for :func:`whole`.
    told : function (sentence)
        Called before the download, with what and how much.

    Raises
    ------
    SourceError
        As :func:`whole` and :meth:`Whole.fetch`.
    """
    repository = _allowed(ref, access)
    local = on_this_machine(ref, access) if repository.is_offline else None
    if local is not None:
        return local, _short(repository)
    model = _whole(repository)
    size = 0 if repository.is_offline else model.missing
    if size:
        told(
            f"{repository.id}: the whole model is downloaded into the Hub's cache on this machine, "
            f"{size / 1e6:,.1f} MB."
        )
    return model.fetch(), _short(repository)


def _short(repository: Repository) -> str:
    return repository.id.rpartition("/")[2]


def _allowed(ref: str, access: Access) -> Repository:
    if not access.local_paths or access.local_root is not None:
        raise SourceError(
            f"{ref}: this server reads tables from the Hub but downloads no whole models. Make the "
            f"checkpoint on your own machine, with posviz extend."
        )
    return repository_of(ref, access)


def _whole(repository: Repository) -> Whole:
    commit, files, warning = listing(repository, Traffic())
    if warning is not None:
        raise SourceError(warning)
    wanted = _wanted(repository, commit, files)
    return Whole(repository, commit, {name: files[name].size for name in wanted})


def _wanted(repository: Repository, commit: str, files: dict[str, Listed]) -> list[str]:
    """The weights that posviz opens, and what belongs to them."""
    found = files_of(repository, commit, files, Traffic())
    weights = folders.choose(found)
    return [*weights.files, *beside(found.names, weights)]


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
