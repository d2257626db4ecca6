"""The pages are proven by the engines: each names the fault in the wrong program of a page, and none in the right one.

Silent faults are audited, all others run. A collection of messages that have nothing in common but their kin has no symptom of
its own for an engine to name.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gradwhy.catalog import load, programs

SILENT = {name for name in load.names("symptoms") if load.entry(name).facts.get("silent")}  # type: ignore[union-attr]
MISSED = {
    "evaluation-tracked": "no value is wrong: only the source shows that nothing goes backward later",
    "silent-wrong-grad": "writes through .data change what is saved, and are not looked at",
    "frozen-in-optimizer": "a remark beside another fault, and there is none here",
    "head-replaced": "a remark beside another fault, and there is none here",
}
RUNNER = """
import io, json, os, sys, torch, torch._dynamo, torch._functorch.aot_autograd
from gradwhy.runtime import launch, session as running
from gradwhy.runtime.audit import session as auditing
torch.set_num_threads(1)
for file in sorted(os.listdir()):
    if not file.endswith(".py"):
        continue
    child = os.fork()
    if child == 0:
        try:
            sys.stdout = sys.stderr = io.StringIO()
            program = launch.Program(file)
            audited = file.endswith(".audit.py")
            if audited:
                outcome = auditing.audit(program, auditing.Plan()).outcome
            else:
                outcome = running.run(program, nan=".nan." in file)
            findings = outcome.report.findings
            told = [(f.cause, f.symptom, f.severity) for each in findings for f in (each, *each.related)]
            open(file + ".json", "w").write(json.dumps(told))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""


def is_silent(name: str) -> bool:
    entry = load.entry(name)
    assert entry is not None
    return name in SILENT or (entry.family == "causes" and set(entry.facts["symptoms"]) <= SILENT)


def engines(name: str) -> list[str]:
    entry = load.entry(name)
    assert entry is not None
    if is_silent(name):
        return ["audit"]
    return ["run", "run.nan"] if "nan-grad" in (name, *entry.facts.get("symptoms", ())) else ["run"]


def has_engine(name: str) -> bool:
    entry = load.entry(name)
    assert entry is not None
    # Programs of several processes are run as such: tests/runtime/test_ranks*.py.
    alone = not entry.facts.get("varies")
    return alone and (entry.family == "causes" or bool(entry.facts.get("patterns")) or name in SILENT)


PAGES = [name for family in ("causes", "symptoms") for name in load.names(family) if has_engine(name)]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    """``name.kind`` of each program -> cause, symptom and severity of each finding; each in a fork of one process."""
    folder = tmp_path_factory.mktemp("pages")
    for name in PAGES:
        for program in programs.of(name):
            if not program.key:
                for engine in engines(name):
                    (folder / f"{name}.{program.kind}.{engine}.py").write_text(program.code)
    (folder / "runner").write_text(RUNNER)
    subprocess.run([sys.executable, "runner"], cwd=folder, check=True, stdin=subprocess.DEVNULL)
    found: dict[str, list[list[str]]] = {}
    for file in sorted(folder.glob("*.json")):
        found.setdefault(".".join(file.name.split(".")[:2]), []).extend(json.loads(file.read_text()))
    return found


@pytest.mark.parametrize("name", PAGES)
def test_an_engine_finds_what_a_page_shows(
    name: str, found: dict[str, list[list[str]]], request: pytest.FixtureRequest
) -> None:
    if name in MISSED:
        request.applymarker(pytest.mark.xfail(reason=MISSED[name], strict=True))
    entry = load.entry(name)
    assert entry is not None
    assert [told for told in found[f"{name}.right"] if told[2] != "note"] == []
    wrong = found[f"{name}.wrong"]
    if entry.family == "causes":
        assert name in {cause for cause, _, _ in wrong}
    elif is_silent(name):
        # What torch itself warns of is told as that warning.
        assert {name, "warned"} & {symptom for _, symptom, _ in wrong}
    else:
        assert name in {symptom for _, symptom, _ in wrong}
