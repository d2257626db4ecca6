"""The cases of ``benchmarks/faults`` that tests run as well: they stand there, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

HOME = Path(__file__).parents[1] / "benchmarks" / "faults" / "cases"
_FACTS = {meta: json.loads(meta.read_text("utf-8")) for meta in sorted(HOME.glob("*.json"))}

WITH_HOSTS = [meta for meta, facts in _FACTS.items() if facts.get("needs")]
"""Those that need a trainer or an adapter's package."""

RUN = [
    meta for meta, facts in _FACTS.items()
    if not facts.get("needs") and (facts["raises"] or facts["kind"] == "silent-leaf-loss")
]  # fmt: skip
"""Those that ``gradwhy run`` is to find: what raises, and losses that were made leaves."""

RIGHT = [meta.with_name(f"{meta.stem}.fixed.py") for meta in RUN]
PROGRAMS = [*(meta.with_suffix(".py") for meta in RUN), *RIGHT]
