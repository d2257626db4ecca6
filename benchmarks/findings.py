"""How often the first finding is at a right line and of the right cause, on a folder of cases, with and without recording.

usage: python benchmarks/findings.py [--trace auto|always|never] [--only PREFIX] [FOLDER]
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CASES = [ROOT / "tests" / "cases", ROOT / "benchmarks" / "faults" / "cases"]


def first_finding(program: Path, trace: str) -> dict[str, Any] | None:
    """Of a program that is run alone, as ``train.py`` in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(program, Path(folder, "train.py"))
        command = [
            sys.executable,
            "-m",
            "gradwhy",
            "run",
            "--trace",
            trace,
            "--format",
            "json",
            "--output",
            "report.json",
            "train.py",
        ]
        environment = os.environ | {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False)
        report = Path(folder, "report.json")
        findings = json.loads(report.read_text("utf-8"))["findings"] if report.is_file() else []
        return findings[0] if findings else None


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--trace", choices=["auto", "always", "never"], default="auto")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    folders = [asked.folder] if asked.folder is not None else CASES
    metas = sorted(meta for folder in folders for meta in folder.glob(f"{asked.only}*.json"))
    facts = {meta: json.loads(meta.read_text("utf-8")) for meta in metas}
    loud = [meta for meta, known in facts.items() if known["raises"] and not known.get("needs")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(loud, pool.map(lambda meta: first_finding(meta.with_suffix(".py"), asked.trace), loud)))
    rows = collections.defaultdict(list)
    for meta, finding in found.items():
        known = facts[meta]
        line = finding is not None and finding["at"]["line"] in known["cause_lines"]
        cause = None if known["cause"] == "other" else finding is not None and finding["cause"] == known["cause"]
        rows[known["kind"]].append((line, cause))
    everything = [row for group in rows.values() for row in group]
    for kind, group in [*sorted(rows.items()), ("all", everything)]:
        causes = [cause for _, cause in group if cause is not None]
        print(f"{kind:24} line {sum(line for line, _ in group)}/{len(group)}  cause {sum(causes)}/{len(causes)}")


if __name__ == "__main__":
    main()
