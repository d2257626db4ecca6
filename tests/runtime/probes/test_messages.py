"""What torch's autograd says, really raised: each message is known to the one probe that answers for it, the rest to none.

The messages, and why some have no probe, are in ``tests/messages.toml``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from gradwhy.catalog.stated import all_stated
from gradwhy.runtime.probes import all_probes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
FILE = tomllib.loads((HERE.parents[1] / "messages.toml").read_text("utf-8"))
MESSAGES = FILE["message"]
SAME_TORCH = torch.__version__.startswith(FILE["torch"] + ".")


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What each program ended with, and the probes that match: two processes share the work."""
    out = tmp_path_factory.mktemp("messages")
    runner = [sys.executable, "-W", "ignore", HERE / "run_messages.py", out]
    started = [subprocess.Popen([*runner, str(part), "2"], stdout=subprocess.DEVNULL) for part in range(2)]
    for process in started:
        assert process.wait(timeout=600) == 0
    return {path.stem: json.loads(path.read_text()) for path in out.glob("*.json")}


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


def test_each_message_names_a_probe_or_says_why_there_is_none() -> None:
    known = {load().SYMPTOM for load in all_probes()} | {each.symptom for each in all_stated()}
    for message in MESSAGES:
        assert message["symptom"] in known or (message["symptom"] == "" and message["why"]), message["id"]
    assert len({message["id"] for message in MESSAGES}) == len(MESSAGES)
