"""Estimate the memory that preparing the real data takes, from a miniature whose tables are repeated.

    python benchmarks/memory.py mlebench/new-york-city-taxi-fare-prediction train.csv --real 55423856

The table is repeated to `--rows` rows and to half as many, each copy is prepared in a process of its own, and the
difference of their peak memory gives the memory per row. The result goes into `task.toml`, as `memory` of
`[preparation]`.
"""

import argparse
import multiprocessing
import resource
import shutil
import tempfile
import zipfile
from pathlib import Path

import pandas as pd

from assay.core.quantities import format_size
from assay.data.job import PrepareJob, run_prepare, run_synthesize
from assay.tasks import Registry, Task


def main() -> None:
    """Measure at two sizes and print the estimate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("tables", nargs="+", help="raw CSV files to repeat, or zip files with one each")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the first table in the larger copy")
    parser.add_argument("--real", type=int, required=True, help="rows of the first table in the real data")
    asked = parser.parse_args()
    task = Registry().task(asked.task)
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/var/tmp") as folder:
        sizes = (asked.rows // 2, asked.rows)
        small, large = (measure(task, asked.tables, rows, Path(folder, str(rows))) for rows in sizes)
    per_row = (large - small) / (asked.rows - asked.rows // 2)
    total = small + per_row * (asked.real - asked.rows // 2)
    print(f"{task.id}: {per_row:.0f} bytes per row, about {format_size(int(total))} for {asked.real:,} rows")


def measure(task: Task, tables: list[str], rows: int, folder: Path) -> int:
    """Return the peak memory of preparing a miniature with repeated tables, in a process of its own."""
    raw = folder / "raw"
    for part in ("raw", "public", "private"):
        (folder / part).mkdir(parents=True)
    run_synthesize(task, 0, raw)
    times = -(-rows // count_rows(raw / tables[0]))
    for table in tables:
        repeat(raw / table, times)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        peak = pool.apply(prepare_folder, (task.id, folder))
    shutil.rmtree(folder)
    return peak


def prepare_folder(name: str, folder: Path) -> int:
    """Prepare raw data, and return the peak memory of this process in bytes."""
    task, sides = Registry().task(name).in_edition("v1"), (folder / "public", folder / "private")
    run_prepare(PrepareJob(task, folder / "raw", *sides, "v1"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def repeat(path: Path, times: int) -> None:
    """Repeat the rows of a table in place; distinct text stays distinct, because pandas shares equal text."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    distinct = [name for name in table if table[name].nunique() > len(table) / 2 and not is_number(table[name])]
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".csv", delete=False) as file:
        for number in range(times):
            if number:
                table[distinct] = table[distinct].apply(lambda column: column.str.slice(0, -5) + f"{number:05}")  # noqa: B023
            table.to_csv(file, index=False, header=number == 0)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            member = archive.namelist()[0]
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(file.name, member)
        Path(file.name).unlink()
    else:
        Path(file.name).replace(path)


def is_number(column: "pd.Series[str]") -> bool:
    """Whether pandas reads a column as numbers."""
    return bool(pd.to_numeric(column, errors="coerce").notna().mean() > 0.5)


def count_rows(path: Path) -> int:
    """Count the rows of a table."""
    return len(pd.read_csv(path, usecols=[0]))


if __name__ == "__main__":
    main()
