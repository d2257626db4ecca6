"""A report as JSON data and back, without loss. Sentences are added for readers and ignored on the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from gradwhy.findings.evidence import Evidence
from gradwhy.findings.finding import Finding, Step
from gradwhy.findings.fix import Edit, Fix, Verification
from gradwhy.findings.location import Location
from gradwhy.findings.message import Argument, Code, Message
from gradwhy.findings.parameter import Parameter
from gradwhy.findings.report import SCHEMA, Report

Say: TypeAlias = Callable[[Message], str]
Data: TypeAlias = dict[str, Any]


def to_data(report: Report, say: Say) -> Data:
    """The report as JSON data; ``say`` writes the sentences."""
    return {
        "schema": SCHEMA,
        "findings": [_finding(finding, say) for finding in report.findings],
        "examined": dict(report.examined),
        "skipped": [{"at": _location(at), **_message(why, say)} for at, why in report.skipped],
        "notes": [_message(note, say) for note in report.notes],
        "environment": dict(report.environment),
        **({"parameters": [_parameter(row) for row in report.parameters]} if report.parameters else {}),
    }


def from_data(data: Mapping[str, Any]) -> Report:
    """The report that ``to_data`` wrote. Raises ValueError for another schema."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"schema {data.get('schema')!r}, expected {SCHEMA}")
    return Report(
        findings=tuple(map(_finding_back, data["findings"])),
        examined=dict(data["examined"]),
        skipped=tuple((_location_back(item["at"]), _message_back(item)) for item in data["skipped"]),
        notes=tuple(map(_message_back, data["notes"])),
        environment=dict(data["environment"]),
        parameters=tuple(Parameter(**{**row, "shape": tuple(row["shape"])}) for row in data.get("parameters", ())),
    )


def _parameter(row: Parameter) -> Data:
    return {name: list(v) if isinstance(v := getattr(row, name), tuple) else v for name in Parameter.__slots__}


def _finding(finding: Finding, say: Say) -> Data:
    return {
        "cause": finding.cause,
        "symptom": finding.symptom,
        "engine": finding.engine,
        "severity": finding.severity,
        "certainty": finding.certainty,
        "subject": finding.subject,
        "at": _location(finding.at),
        "surfaces_at": _location(finding.surfaces_at) if finding.surfaces_at is not None else None,
        "path": [
            {
                "at": _location(step.at),
                "op": step.op,
                "before": step.before,
                "after": step.after,
                "note": say(step.note) if step.note is not None else None,
                "text": _bare(step.note) if step.note is not None else None,
            }
            for step in finding.path
        ],
        **_message(finding.message, say),
        "evidence": [
            {
                "kind": item.kind,
                "subject": item.subject,
                "facts": {k: list(v) if isinstance(v, tuple) else v for k, v in item.facts.items()},
                "claim": say(item.claim) if item.claim is not None else None,
                "text": _bare(item.claim) if item.claim is not None else None,
                "at": _location(item.at) if item.at is not None else None,
                "observed": item.observed,
            }
            for item in finding.evidence
        ],
        "fixes": [_fix(fix, say) for fix in finding.fixes],
        "related": [_finding(other, say) for other in finding.related],
        "because_of": finding.because_of,
        "fingerprint": finding.fingerprint,
    }


def _finding_back(data: Mapping[str, Any]) -> Finding:
    return Finding(
        cause=data["cause"],
        symptom=data["symptom"],
        engine=data["engine"],
        severity=data["severity"],
        certainty=data["certainty"],
        subject=data["subject"],
        at=_location_back(data["at"]),
        surfaces_at=_location_back(data["surfaces_at"]) if data["surfaces_at"] is not None else None,
        path=tuple(
            Step(
                at=_location_back(step["at"]),
                op=step["op"],
                before=step["before"],
                after=step["after"],
                note=_message_back(step) if step["text"] is not None else None,
            )
            for step in data["path"]
        ),
        message=_message_back(data),
        evidence=tuple(
            Evidence(
                kind=item["kind"],
                subject=item["subject"],
                facts={k: tuple(v) if isinstance(v, list) else v for k, v in item["facts"].items()},
                claim=_message_back(item) if item["text"] is not None else None,
                at=_location_back(item["at"]) if item["at"] is not None else None,
                observed=item["observed"],
            )
            for item in data["evidence"]
        ),
        fixes=tuple(map(_fix_back, data["fixes"])),
        related=tuple(map(_finding_back, data["related"])),
        because_of=data["because_of"],
        fingerprint=data["fingerprint"],
    )


def _fix(fix: Fix, say: Say) -> Data:
    tried = fix.verification
    return {
        "title": say(fix.title),
        "text": _bare(fix.title),
        "applicability": fix.applicability,
        "verified": tried.passed if tried is not None else None,
        "verification": {name: getattr(tried, name) for name in Verification.__slots__} if tried is not None else None,
        "edits": [{name: getattr(edit, name) for name in Edit.__slots__} for edit in fix.edits],
    }


def _fix_back(data: Mapping[str, Any]) -> Fix:
    return Fix(
        title=_message_back(data),
        applicability=data["applicability"],
        edits=tuple(Edit(**edit) for edit in data["edits"]),
        verification=Verification(**data["verification"]) if data["verification"] is not None else None,
    )


def _location(location: Location) -> Data:
    return {name: getattr(location, name) for name in Location.__slots__}


def _location_back(data: Mapping[str, Any]) -> Location:
    return Location(**data)


def _message(message: Message, say: Say) -> Data:
    return {"message": say(message), "text": _bare(message)}


def _bare(message: Message) -> Data:
    return {"id": message.id, "args": {key: _argument(value) for key, value in message.args.items()}}


def _argument(value: Argument) -> Any:
    if isinstance(value, Code):
        return {"code": value.text}
    if isinstance(value, Message):
        return _bare(value)
    return value


def _message_back(data: Mapping[str, Any]) -> Message:
    return _bare_back(data["text"])


def _bare_back(data: Mapping[str, Any]) -> Message:
    return Message(data["id"], {key: _argument_back(value) for key, value in data["args"].items()})


def _argument_back(value: Any) -> Argument:
    if isinstance(value, dict):
        return Code(value["code"]) if "code" in value else _bare_back(value)
    known: Argument = value
    return known
