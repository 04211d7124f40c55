"""Names of Hub models by what a person types: for a search box, nothing is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from posviz.errors import SourceError
from posviz.sources.repository import Repository, spoken

if TYPE_CHECKING:
    from posviz.sources.access import Access

_TIMEOUT = 10.0  # seconds


@dataclass(frozen=True)
class HubModel:
    """A model that a search found.

    Parameters
    ----------
    ref : str
        The reference that opens it, ``hub:OWNER/NAME``.
    label : str
        Its id on the Hub.
    downloads : int
        In the last thirty days, as the Hub counts them.
    task : str or None
    """

    ref: str
    label: str
    downloads: int
    task: str | None


def search(text: str, access: Access, *, limit: int = 20) -> tuple[HubModel, ...]:
    """Hub models whose name holds the text, most downloaded first.

    Raises
    ------
    SourceError
        Offline, or the Hub gives no answer.
    """
    import httpx2
    from huggingface_hub import get_session
    from huggingface_hub.errors import OfflineModeIsEnabled
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    hub = Repository("", "main", access)
    host = spoken(hub.endpoint)
    if hub.is_offline:
        raise SourceError(f"{host} is not searched in offline mode. Open a local file or a demo.")
    try:
        # Asked directly: the library's own listing repeats a failed request for most of a minute.
        answer = get_session().get(
            f"{hub.endpoint}/api/models",
            params={"search": text.strip(), "sort": "downloads", "limit": limit},
            headers=build_hf_headers(token=hub.token),
            timeout=_TIMEOUT,
        )
        answer.raise_for_status()
        return tuple(_model(item) for item in answer.json()[:limit])
    except OfflineModeIsEnabled as err:
        raise SourceError(f"{host} was not searched: HF_HUB_OFFLINE is set.") from err
    except httpx2.HTTPStatusError as err:
        raise SourceError(f"{host} refused the search. Try again later.") from err
    except (httpx2.HTTPError, OSError) as err:
        raise SourceError(f"{host} cannot be reached. Check the network and try again.") from err
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as err:
        raise SourceError(f"{host} answered with something that is no list of models.") from err


def _model(item: dict[str, object]) -> HubModel:
    downloads, task = item.get("downloads"), item.get("pipeline_tag")
    return HubModel(
        f"hub:{item['id']}",
        str(item["id"]),
        downloads if type(downloads) is int else 0,
        task if isinstance(task, str) else None,
    )
