"""Runs every program of the catalogue and of the contract on the torch that is installed, and stores what they said.

    python benchmarks/matrix.py               store it in the package
    python benchmarks/matrix.py --compare     store nothing, print what differs from what is stored

``make torch-matrix VERSIONS="2.4.1 2.15.0"`` calls it in an environment of its own for each version.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Mapping
from pathlib import Path

import tomllib

from gradwhy.catalog import load, observed, programs, versions
from gradwhy.catalog.programs import Program
from gradwhy.contract import axes, results
from gradwhy.runtime import catalogue, contract
from gradwhy.runtime.catalogue import Ended

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true")
    compare = parser.parse_args().compare
    torch, python = contract.version(), platform.python_version()
    began = time.perf_counter()
    ended = dict(catalogue.run_all(programs.steady()))
    said = {program: each.said for program, each in ended.items()}
    rows = dict(contract.run_all(axes.table()))
    seconds = time.perf_counter() - began
    changed = [program for program, new in said.items() if versions.said(program).get(torch) != new]
    stored = results.load(torch).rows if torch in results.versions() else {}
    differing = [each for each in rows if each in stored and stored[each] != rows[each]]
    for program in changed[:20] if compare else ():
        print(f"{program.id}\n  stored  {versions.said(program).get(torch)}\n  now     {said[program]}")
    for each in differing[:20]:
        print(f"{each}\n  stored  {stored[each]}\n  now     {rows[each]}")
    if not compare:
        versions.save(torch, python, said)
        results.save(results.Record(torch, python, "table", rows))
        if torch == tomllib.loads((ROOT / "torch-versions.toml").read_text("utf-8"))["tested"]:
            save_tracebacks(torch, ended)
    print(
        f"torch {torch}: {len(said)} programs, {len(changed)} new or other than stored; {len(rows)} combinations, "
        f"{len(differing)} other than stored; {seconds:.0f} s"
    )


def save_tracebacks(torch: str, ended: Mapping[Program, Ended]) -> None:
    """The traceback of each symptom's own wrong program, beside its page."""
    for program, each in ended.items():
        if program.kind == "wrong" and not program.key and load.family(program.entry) == "symptoms":
            file = Path(load.__file__).parent / "entries/symptoms" / program.entry / observed.TRACEBACK
            if each.traceback:
                file.write_text(observed.stored_traceback(torch, each.traceback), "utf-8")
            else:
                file.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
