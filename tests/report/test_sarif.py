"""The SARIF log against the standard: SARIF 2.1.0 (OASIS, errata 01), the part of its schema that our logs use."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft7Validator, ValidationError

from gradwhy.findings import Message
from gradwhy.report import formats
from gradwhy.source import text
from gradwhy.static import looking, settings


def exactly(required: str = "", **properties: Any) -> dict[str, Any]:
    """An object with these properties only, as the standard's objects are."""
    kinds: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    return kinds | ({"required": required.split()} if required else {})


def several(items: dict[str, Any], at_least: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": at_least, **more}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
BAG = {"type": "object"}
MESSAGE = exactly(text=TEXT, markdown=TEXT, id=TEXT) | {"anyOf": [{"required": ["text"]}, {"required": ["id"]}]}  # 3.11
MULTIFORMAT = exactly("text", text=TEXT, markdown=TEXT)  # 3.12
URI = {"type": "string", "pattern": r"^[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*$"}
ARTIFACT = exactly(uri=URI)  # 3.4
REGION = exactly("startLine", startLine=COUNT, startColumn=COUNT, endLine=COUNT, endColumn=COUNT)  # 3.30
LOCATION = exactly(  # 3.28
    physicalLocation=exactly("artifactLocation", artifactLocation=ARTIFACT, region=REGION),
    logicalLocations=several(exactly(name=TEXT, fullyQualifiedName=TEXT, kind=TEXT), uniqueItems=True),
    message=MESSAGE,
    properties=BAG,
)
REPLACEMENT = exactly("deletedRegion", deletedRegion=REGION, insertedContent=exactly(text=TEXT))  # 3.57
CHANGE = exactly(
    "artifactLocation replacements", artifactLocation=ARTIFACT, replacements=several(REPLACEMENT, 1)
)  # 3.56
FIX = exactly("artifactChanges", description=MESSAGE, artifactChanges=several(CHANGE, 1, uniqueItems=True))  # 3.55
THREAD = exactly("locations", locations=several(exactly(location=LOCATION), 1))  # 3.37
RESULT = exactly(  # 3.27
    "message",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=MESSAGE,
    locations=several(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    codeFlows=several(exactly("threadFlows", threadFlows=several(THREAD, 1))),
    fixes=several(FIX, uniqueItems=True),
    properties=BAG,
)
RULE = exactly("id", id=TEXT, shortDescription=MULTIFORMAT, help=MULTIFORMAT)  # 3.49
NOTIFICATION = exactly("message", message=MESSAGE, level=LEVEL, locations=several(LOCATION, uniqueItems=True))  # 3.58
INVOCATION = exactly(  # 3.20
    "executionSuccessful", executionSuccessful={"type": "boolean"}, toolExecutionNotifications=several(NOTIFICATION)
)
DRIVER = exactly("name", name=TEXT, version=TEXT, rules=several(RULE, uniqueItems=True))  # 3.19
RUN = exactly(  # 3.14
    "tool",
    tool=exactly("driver", driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=several(INVOCATION),
    results=several(RESULT),
)
LOG = exactly("version runs", **{"$schema": URI}, version={"const": "2.1.0"}, runs=several(RUN))  # 3.13

PROGRAM = """\
import torch

w = torch.randn(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
loss = (w * 2).detach().sum()
loss.backward()
optimizer.step()
"""
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": PROGRAM}]})


def written(language: str) -> Any:
    text.give("a folder/tråin.py", PROGRAM)
    text.give("a.ipynb", NOTEBOOK)
    looks = [
        looking.look_at_text("a folder/tråin.py", PROGRAM, False),
        looking.look_at_text("a.ipynb", NOTEBOOK, False),
        looking.look_at_text("broken.py", "def (  # torch.optim backward", False),
        looking.Look("ours.py", notes=(Message("words.own-fault", {"error": "KeyError: 1"}),)),
    ]
    report = looking.report_of(looks, settings.Settings())
    return json.loads(formats.load("sarif").write(report, formats.Look(language, 80, False)))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_log_is_sarif(language: str) -> None:
    log = written(language)
    Draft7Validator.check_schema(LOG)
    Draft7Validator(LOG).validate(log)
    (run,) = log["runs"]
    in_file, in_notebook = run["results"]
    # A line of a cell is none of the notebook's file.
    assert "fixes" in in_file and "fixes" not in in_notebook
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 2
    assert run["invocations"][0]["executionSuccessful"] is False


def test_every_rule_index_is_that_of_its_rule() -> None:
    (run,) = written("en")["runs"]
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])


def test_a_field_that_the_standard_lacks_is_refused() -> None:
    log = written("en")
    log["runs"][0]["results"][0]["severity"] = "error"
    with pytest.raises(ValidationError):
        Draft7Validator(LOG).validate(log)
