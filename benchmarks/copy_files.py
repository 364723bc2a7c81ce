"""Copy the files of a folder and hash the copies: `python benchmarks/copy_files.py RAW TARGET`."""

import hashlib
import os
import shutil
import sys
from pathlib import Path

if __name__ == "__main__":
    for path in Path(sys.argv[1]).rglob("*"):
        if path.is_file():
            copy = Path(sys.argv[2], path.name)
            shutil.copyfile(path, copy)
            with copy.open("rb") as file:
                hashlib.file_digest(file, "sha256")
    os.sync()
