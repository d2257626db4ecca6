"""Runs each combination of ``gradwhy contract`` on the torch that is installed, and stores what it did in the package.

    python benchmarks/contract.py

Results of other versions stay as they are. ``gradwhy contract --live --all`` compares without storing.
"""

from __future__ import annotations

import platform
import time

from gradwhy.contract import axes, results
from gradwhy.runtime import contract


def main() -> None:
    began = time.perf_counter()
    rows = dict(contract.run_all(axes.table()))
    seconds = time.perf_counter() - began
    results.save(results.Record(contract.version(), platform.python_version(), "table", rows))
    print(f"{len(rows)} combinations, {len(set(map(str, rows.values())))} outcomes, {seconds:.1f} s")
    for version in results.versions():
        stale = "  stale: run it again" if results.is_stale(version) else ""
        print(f"{version:8} {len(results.load(version).rows):5} rows, from {results.load(version).source}{stale}")


if __name__ == "__main__":
    main()
