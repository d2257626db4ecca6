"""The example of the README: what it says of the faulty script, and that the corrected one trains."""

from __future__ import annotations

import difflib
import json
import re
import shutil
from pathlib import Path

from conftest import launch

EXAMPLE = Path(__file__).parents[1] / "examples" / "transfer_learning"


def test_the_diagnosis(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    run = launch(["-m", "gradwhy", "run", "--verify", "--format", "json", "--output", str(report), "train.py"], EXAMPLE)
    assert run.returncode == 1
    assert run.stderr.rstrip().endswith("element 0 of tensors does not require grad and does not have a grad_fn")
    (finding,) = json.loads(report.read_text("utf-8"))["findings"]
    lines = (EXAMPLE / "train.py").read_text("utf-8").splitlines()
    line = lambda at: lines[at["line"] - 1].strip()  # noqa: E731

    assert (finding["cause"], finding["certainty"]) == ("index-output", "proven")
    assert finding["subject"] == "torch.max(outputs, 1)"
    assert line(finding["at"]) == "_, preds = torch.max(outputs, 1)"
    path = [line(step["at"]) for step in finding["path"]]
    assert path == [
        "outputs = model(inputs)",
        line(finding["at"]),
        "loss = criterion(preds, labels)",
        "loss.backward()",
    ]

    fix = finding["fixes"][0]
    assert "outputs.squeeze(1)" in fix["title"] and "(64,)" in fix["title"]
    assert fix["verified"] is True
    assert fix["verification"] == {"trained": 2, "trainable": 2, "changed": 2, "ended": False, "failure": None}

    related = {other["cause"]: line(other["at"]) for other in finding["related"]}
    assert related["head-replaced"] == "param.requires_grad = True"
    assert related["frozen-in-optimizer"] == "optimizer = optim.Adam(model.parameters(), lr=0.001)"
    claims = [item["claim"] for item in finding["evidence"] if item["claim"]]
    assert any("CPU or GPU makes no difference" in claim for claim in claims)


def test_all_its_faults_are_corrected_at_once(tmp_path: Path) -> None:
    for file in EXAMPLE.glob("*.py"):
        shutil.copy(file, tmp_path)
    launch(["-m", "gradwhy", "run", "--fix", "train.py"], tmp_path)
    assert_trains(tmp_path / "train.py")
    report = tmp_path / "report.json"
    launch(
        ["-m", "gradwhy", "audit", "--samples", "4", "--format", "json", "--output", str(report), "train.py"], tmp_path
    )
    assert json.loads(report.read_text("utf-8"))["findings"] == []
    patch = difflib.unified_diff(
        (EXAMPLE / "train.py").read_text("utf-8").splitlines(),
        (tmp_path / "train.py").read_text("utf-8").splitlines(),
        n=0,
    )
    assert [line for line in patch if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-    for param in model.fc.parameters():",
        "-        param.requires_grad = True",
        "-            _, preds = torch.max(outputs, 1)",
        "-            loss = criterion(preds, labels)",
        "+            loss = criterion(outputs.squeeze(1), labels)",
        "-    optimizer = optim.Adam(model.parameters(), lr=0.001)",
        "+    optimizer = optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.001)",
    ]


def test_the_corrected_twin_trains() -> None:
    assert_trains(EXAMPLE / "train_fixed.py")


def assert_trains(script: Path) -> None:
    run = launch([script.name], script.parent)
    losses = [float(found) for found in re.findall(r"loss ([\d.]+)", run.stdout)]
    assert len(losses) >= 3
    assert all(later < earlier for earlier, later in zip(losses, losses[1:])), losses


def test_the_fix_leaves_a_last_batch_of_one_alone() -> None:
    """129 pictures in batches of 64: ``squeeze()`` would make the last output a scalar."""
    text = (EXAMPLE / "train_fixed.py").read_text("utf-8")
    count, size = re.search(r"load_pictures\((\d+)\)", text), re.search(r"batch_size=(\d+)", text)
    assert count is not None and size is not None
    assert int(count[1]) % int(size[1]) == 1
