"""Whether an OpenAI-compatible server has the Responses API, which models named `openai/…` are called through."""

import http.client
import os
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from assay.core.errors import UsageError
from assay.models.settings import ModelSettings

SECONDS = 10.0


def check_responses_api(name: str, settings: ModelSettings) -> None:
    """Raise `UsageError` if a model would be called through an API that its server does not have.

    Many local servers offer chat completions only. They answer requests to the Responses API with 404,
    which would be retried until the trial's time is over. OpenAI's own server is not asked.
    """
    base = settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
    if not name.startswith("openai/") or not base or settings.options.get("responses_api") is False:
        return
    address = urlsplit(base)
    if address.scheme not in ("http", "https") or (address.hostname or "").endswith("openai.com"):
        return
    model = name.partition("/")[2]
    advice = (
        f"if it has chat completions only, use --model openai-api/SERVICE/{model} with SERVICE_BASE_URL={base} and "
        "SERVICE_API_KEY, or --set options.responses_api=false"
    )
    # An empty request: a server with this API rejects it, and none of them can bill it.
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(f"{base.rstrip('/')}/responses", b"{}", headers)
    try:
        urllib.request.urlopen(request, timeout=SECONDS).close()
    except urllib.error.HTTPError as error:
        if error.code in (404, 405, 501):
            raise UsageError(f"{name}: the server at {base} has no Responses API ({error.code}); {advice}") from None
    except (OSError, http.client.HTTPException):
        return  # an outage: the run itself reports and survives it
