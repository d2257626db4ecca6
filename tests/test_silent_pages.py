"""The pages of silent faults are proven by the audit: it names the fault in the wrong program, and nothing in the right one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradwhy.catalog import load

SILENT = {name for name in load.names("symptoms") if load.entry(name).facts.get("silent")}  # type: ignore[union-attr]
MISSED = {
    "evaluation-tracked": "no value is wrong: only the source shows that nothing goes backward later",
    "silent-wrong-grad": "writes through .data change what is saved, and are not looked at",
}


def pages() -> list[str]:
    """Symptoms that are silent, and causes that have no other."""
    causes = [name for name in load.names("causes") if set(load.entry(name).facts["symptoms"]) <= SILENT]  # type: ignore[union-attr]
    return [*causes, *sorted(SILENT)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    """``name.kind`` of each program -> cause and symptom of each error and warning; each in a fork of one process."""
    folder = tmp_path_factory.mktemp("pages")
    for name in pages():
        text = load.text(name, "en")
        assert text is not None
        for kind, code in re.findall(r"```python (wrong|right)\n(.*?)```", text.page, re.S):
            (folder / f"{name}.{kind}.py").write_text(code)
    (folder / "runner.py").write_text(
        "import glob, json, os, torch, torch._dynamo\n"
        "from gradwhy.runtime import launch\n"
        "from gradwhy.runtime.audit import session\n"
        "torch.set_num_threads(1)\n"
        "for file in sorted(glob.glob('*.*.py')):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        report = session.audit(launch.Program(file, (), False), session.Plan()).outcome.report\n"
        "        told = [(f.cause, f.symptom) for f in report.findings if f.severity != 'note']\n"
        "        open(file + '.json', 'w').write(json.dumps(told))\n"
        "        os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
    )
    subprocess.run([sys.executable, "runner.py"], cwd=folder, check=True, capture_output=True)
    return {file.name.removesuffix(".py.json"): json.loads(file.read_text()) for file in Path(folder).glob("*.json")}


@pytest.mark.parametrize("name", pages())
def test_the_audit_finds_what_a_page_shows(
    name: str, found: dict[str, list[list[str]]], request: pytest.FixtureRequest
) -> None:
    if name in MISSED:
        request.applymarker(pytest.mark.xfail(reason=MISSED[name], strict=True))
    entry = load.entry(name)
    assert entry is not None
    assert found[f"{name}.right"] == []
    wrong = found[f"{name}.wrong"]
    if entry.family == "causes":
        assert name in {cause for cause, _ in wrong}
    else:
        # What torch itself warns of is told as that warning.
        assert {name, "warned"} & {symptom for _, symptom in wrong}
