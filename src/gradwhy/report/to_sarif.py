"""SARIF 2.1.0: findings for code scanning."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from gradwhy.catalog import load, render
from gradwhy.findings import Edit, Finding, Fix, Location, Message, Report, Step
from gradwhy.report.formats import Look
from gradwhy.version import VERSION

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write(report: Report, look: Look) -> str:
    """One SARIF log with one run."""
    causes = sorted({finding.cause for finding in report.findings})
    invocation: dict[str, Any] = {"executionSuccessful": not report.notes}
    told = [_notification(why, at, look) for at, why in report.skipped] + [
        _notification(n, None, look) for n in report.notes
    ]
    if told:
        invocation["toolExecutionNotifications"] = told
    run = {
        "tool": {"driver": {"name": "gradwhy", "version": VERSION, "rules": [_rule(cause, look) for cause in causes]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_result(finding, causes, look) for finding in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1) + "\n"


def _rule(cause: str, look: Look) -> dict[str, Any]:
    text = load.text(cause, look.language) or load.text(cause, "en")
    title = text.sentences.get("title", cause) if text is not None else cause
    rule: dict[str, Any] = {"id": cause, "shortDescription": {"text": title}}
    if text is not None and text.page.strip():
        rule["help"] = {"text": text.page, "markdown": text.page}
    return rule


def _result(finding: Finding, causes: list[str], look: Look) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.cause,
        "ruleIndex": causes.index(finding.cause),
        "level": finding.severity,
        "message": {"text": _said(finding.message, look)},
        "locations": [_location(finding.at)],
        "partialFingerprints": {"gradwhy/v1": finding.fingerprint},
        "properties": {"certainty": finding.certainty, "engine": finding.engine, "symptom": finding.symptom or ""},
    }
    if finding.path:
        result["codeFlows"] = [{"threadFlows": [{"locations": [_step(step, look) for step in finding.path]}]}]
    # A region of a notebook's cell is none of the file that it is in.
    fixes = [_fix(fix, look) for fix in finding.fixes if fix.edits and fix.edits[0].cell is None]
    if fixes:
        result["fixes"] = fixes
    return result


def _step(step: Step, look: Look) -> dict[str, Any]:
    return {"location": _location(step.at, _said(step.note, look) if step.note is not None else None)}


def _location(at: Location, said: str | None = None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(at.file)}}
    if at.cell is None:
        physical["region"] = _region(at)
    else:
        said = f"cell {at.cell} line {at.line}" + (f": {said}" if said else "")
    found: dict[str, Any] = {"physicalLocation": physical}
    if at.function:
        found["logicalLocations"] = [{"fullyQualifiedName": at.function, "kind": "function"}]
    if said:
        found["message"] = {"text": said}
    return found


def _region(at: Location | Edit) -> dict[str, int]:
    ends = {"endLine": at.end_line, "endColumn": at.end_column}
    return {"startLine": at.line, "startColumn": at.column, **{k: v for k, v in ends.items() if v is not None}}


def _fix(fix: Fix, look: Look) -> dict[str, Any]:
    files = dict.fromkeys(edit.file for edit in fix.edits)
    changes = [
        {
            "artifactLocation": {"uri": _uri(file)},
            "replacements": [
                {"deletedRegion": _region(edit), "insertedContent": {"text": edit.new_text}}
                for edit in fix.edits
                if edit.file == file
            ],
        }
        for file in files
    ]
    return {"description": {"text": _said(fix.title, look)}, "artifactChanges": changes}


def _notification(message: Message, at: Location | None, look: Look) -> dict[str, Any]:
    told: dict[str, Any] = {"level": "note", "message": {"text": _said(message, look)}}
    if at is not None:
        told["locations"] = [_location(at)]
    return told


def _uri(file: str) -> str:
    return quote(file.replace("\\", "/"), safe="/:")


def _said(message: Message, look: Look) -> str:
    return render.sentence(message, look.language)
