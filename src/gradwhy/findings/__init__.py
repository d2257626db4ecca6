"""What an engine found, as plain frozen data: no tensor, frame, AST node or sentence."""

from gradwhy.findings.evidence import Evidence
from gradwhy.findings.finding import Certainty, Finding, GradState, Severity, Step, fingerprint
from gradwhy.findings.fix import Applicability, Edit, Fix, Verification
from gradwhy.findings.location import Location
from gradwhy.findings.message import Argument, Code, Message
from gradwhy.findings.parameter import Parameter, ParameterState
from gradwhy.findings.report import Report

__all__ = [
    "Applicability",
    "Argument",
    "Certainty",
    "Code",
    "Edit",
    "Evidence",
    "Finding",
    "Fix",
    "GradState",
    "Location",
    "Message",
    "Parameter",
    "ParameterState",
    "Report",
    "Severity",
    "Step",
    "Verification",
    "fingerprint",
]
