"""An optimizer that was handed parameters which are frozen: nothing breaks, but weight decay or old gradients may move them."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Evidence, Finding, Message, fingerprint
from gradwhy.runtime.probes import Situation

CAUSE = "frozen-in-optimizer"


def review(situation: Situation) -> Iterable[Finding]:
    """Only where some train and some don't: where all are frozen, that is the fault itself."""
    for made in situation.watch.journal.optimizers:
        parameters = made.parameters()
        frozen = sum(not parameter.requires_grad for parameter in parameters)
        if not made.chain or not 0 < frozen < len(parameters):
            continue
        site = made.chain[0]
        source = site.source
        facts = {"parameters": len(parameters), "frozen": frozen}
        yield Finding(
            cause=CAUSE,
            symptom=None,
            engine="runtime",
            severity="note",
            certainty="proven",
            subject=site.expression(),
            at=site.location(),
            message=Message(f"{CAUSE}.headline", {"frozen": frozen, "total": len(parameters)}),
            evidence=(Evidence(kind="optimizer", subject=site.expression(), facts=facts),),
            fingerprint=fingerprint(CAUSE, site.location(), source.line(site.line) if source else ""),
        )
