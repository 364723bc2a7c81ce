"""How this installation of Assay gets an extra: from where Assay itself was installed."""

import json
from importlib import metadata
from urllib.parse import unquote, urlsplit

PACKAGE = "mlassay"


def install_command(extra: str) -> str:
    """Return the command that adds an extra: from the checkout, repository, file or index that Assay came from."""
    try:
        origin = json.loads(metadata.distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        origin = {}
    return f"pip install {describe_requirement(origin, extra)}"


def describe_requirement(origin: dict[str, object], extra: str) -> str:
    """Return what pip is asked for, quoted for a shell; `origin` is the record that pip keeps of a direct URL."""
    url, folder, repository = str(origin.get("url", "")), origin.get("dir_info"), origin.get("vcs_info")
    if isinstance(folder, dict):
        path = unquote(urlsplit(url).path)
        return f"-e '{path}[{extra}]'" if folder.get("editable") else f"'{path}[{extra}]'"
    if isinstance(repository, dict):
        return f"'{PACKAGE}[{extra}] @ {repository.get('vcs', 'git')}+{url}@{repository.get('commit_id', '')}'"
    return f"'{PACKAGE}[{extra}] @ {url}'" if url else f"'{PACKAGE}[{extra}]'"
