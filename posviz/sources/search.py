"""Names of Hub models by what a person types: for a search box, nothing is opened."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from posviz.errors import SourceError
from posviz.sources.repository import Repository

if TYPE_CHECKING:
    from posviz.sources.access import Access


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
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    hub = Repository("", "main", access)
    host = urlsplit(hub.endpoint).hostname or hub.endpoint
    if hub.is_offline:
        raise SourceError(f"{host} is not searched in offline mode. Open a local file or a demo.")
    try:
        found = HfApi(endpoint=hub.endpoint, token=hub.token).list_models(
            search=text.strip(), sort="downloads", limit=limit, token=hub.token
        )
        return tuple(
            HubModel(f"hub:{model.id}", model.id, model.downloads or 0, model.pipeline_tag)
            for model in islice(found, limit)
        )
    except OfflineModeIsEnabled as err:
        raise SourceError(f"{host} was not searched: HF_HUB_OFFLINE is set.") from err
    except HfHubHTTPError as err:
        raise SourceError(f"{host} refused the search. Try again later.") from err
    except (httpx2.HTTPError, OSError) as err:
        raise SourceError(f"{host} cannot be reached. Check the network and try again.") from err
    except (ValueError, TypeError, KeyError) as err:
        raise SourceError(f"{host} answered with something that is no list of models.") from err
