"""What torch's autograd says, really raised: each message is known to the one probe that answers for it, the rest to none.

The messages, and why some have no probe, are in ``tests/messages.toml``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gradwhy.catalog import load, match

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
FILE = tomllib.loads((HERE.parents[1] / "messages.toml").read_text("utf-8"))
MESSAGES = FILE["message"]
SAME_TORCH = torch.__version__.startswith(FILE["torch"] + ".")


KNOWN = [message for message in MESSAGES if message["symptom"]]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What each program ended with, the probes that match, and the reports: two processes share the work."""
    out = tmp_path_factory.mktemp("messages")
    runner = [sys.executable, "-W", "ignore", HERE / "run_messages.py", out]
    started = [subprocess.Popen([*runner, str(part), "2"], stdout=subprocess.DEVNULL) for part in range(2)]
    for process in started:
        assert process.wait(timeout=600) == 0
    return out


@pytest.fixture(scope="session")
def outcomes(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message["id"])
def test_a_message_is_known_to_its_probe_alone(
    message: dict[str, Any], outcomes: dict[str, list[dict[str, Any]]]
) -> None:
    chain = outcomes[message["id"]]
    said = any(
        failure["raised"] == message["raises"] and message["says"] in " ".join(failure["text"].split())
        for failure in chain
    )
    if not said and not SAME_TORCH:
        pytest.skip("this torch says something else")
    assert said, chain
    matching = {symptom for failure in chain for symptom in failure["probes"]}
    assert all(len(failure["probes"]) == len(set(failure["probes"])) for failure in chain), "two probes of one symptom"
    assert matching == {message["symptom"], *message.get("besides", ())} - {""}


@pytest.mark.parametrize("message", KNOWN, ids=lambda message: message["id"])
def test_a_message_is_found_by_the_texts_of_its_symptom(
    message: dict[str, Any], outcomes: dict[str, list[dict[str, Any]]]
) -> None:
    for failure in outcomes[message["id"]]:
        for symptom in failure["probes"]:
            said = " ".join(f"{failure['raised']}: {failure['text']}".split())
            assert any(re.search(known.expression, said) for known in match.all_known() if known.symptom == symptom), (
                said
            )


@pytest.mark.skipif(not SAME_TORCH, reason="another torch says something else")
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message["id"])
def test_a_message_is_recognised_as_it_was_raised(
    message: dict[str, Any], outcomes: dict[str, list[dict[str, Any]]]
) -> None:
    """By what torch says here and now; the texts that are kept are in ``tests/catalog/texts.toml``."""
    said = [failure for failure in outcomes[message["id"]] if message["says"] in " ".join(failure["text"].split())]
    found = match.recognise(f"{said[0]['raised']}: {said[0]['text']}")
    assert found is not None
    if message["symptom"]:
        assert found.entry in (message["symptom"], *message.get("besides", ())), said[0]


@pytest.mark.skipif(not SAME_TORCH, reason="another torch says something else")
@pytest.mark.parametrize("message", KNOWN, ids=lambda message: message["id"])
def test_a_known_message_is_answered(message: dict[str, Any], folder: Path) -> None:
    """A finding at a line of the program, of a cause that the catalogue lists under the symptom."""
    report = json.loads((folder / "reports" / f"{message['id']}.json").read_text())
    assert not [note for note in report["notes"] if note["message"] == "words.own-fault"], report["notes"]
    findings = [finding for finding in report["findings"] if finding["symptom"] != "warned"]
    assert findings, report["notes"]
    best = findings[0]
    assert best["symptom"] == message.get("told", message["symptom"])
    assert best["at"]["file"] == "train.py"
    entry = load.entry(best["cause"])
    assert entry is not None and best["symptom"] in entry.facts["symptoms"], best["cause"]


def test_each_message_names_a_probe_or_says_why_there_is_none() -> None:
    for message in MESSAGES:
        known = message["symptom"] and load.entry(message["symptom"]) is not None
        assert known or (message["symptom"] == "" and message["why"]), message["id"]
    assert len({message["id"] for message in MESSAGES}) == len(MESSAGES)
