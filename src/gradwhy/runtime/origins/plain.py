"""A loss that was made from plain data alone: flags that came late, flags that never came, a model left out."""

from __future__ import annotations

from collections.abc import Iterable

from gradwhy.findings import Location, Message
from gradwhy.runtime.ancestry import Reached, torch_name
from gradwhy.runtime.explanation import Explanation, Loss, definition
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.records import Record
from gradwhy.torchapi import table


def explain(loss: Loss, situation: Situation) -> Iterable[Explanation]:
    """Offered only where nothing behind the loss ever had a path."""
    if loss.record is None or any(r.record.is_cut for r in loss.reached):
        return
    late = list(_flagged_late(loss))
    yield from late
    frozen = [reached for reached in loss.reached if reached.record.frozen]
    if late or any(not loss.trained or loss.trained & set(reached.record.frozen) for reached in frozen):
        return
    if frozen:
        yield _other_model(frozen[0])
        return
    missing = list(_never_flagged(loss, situation))
    yield from missing
    if not missing:
        yield from _model_left_out(loss, situation)


def _flagged_late(loss: Loss) -> Iterable[Explanation]:
    for reached in loss.reached:
        place = reached.record.flagged
        if place is None:
            continue
        user = reached.trail[-1].site if reached.trail else None
        steps = [(place.location(), Message("requires-grad-late.flagged"))]
        if user is not None:
            steps.insert(0, (user.location(), Message("requires-grad-late.used")))
        yield Explanation(
            cause="requires-grad-late",
            at=place.location(),
            subject=place.expression(),
            certain=True,
            trains=True,
            distance=reached.distance,
            # Somebody wants a gradient for just this tensor: that parameters are frozen beside it is no accident.
            weight=-2,
            site=user,
            steps=tuple(steps),
        )


def _never_flagged(loss: Loss, situation: Situation) -> Iterable[Explanation]:
    """Tensors that an optimizer is to train, behind the loss, without requires_grad."""
    known = situation.watch.recorder.records
    to_train = {id(known[key][1]) for key in loss.trained if key in known and known[key][0]() is not None}
    for reached in loss.reached:
        if id(reached.record) not in to_train:
            continue
        site = reached.record.site or (reached.trail[-1].site if reached.trail else None)
        if site is not None:
            yield Explanation(
                cause="requires_grad-missing",
                at=site.location(),
                subject=site.expression(),
                certain=True,
                trains=True,
                distance=reached.distance,
                site=site,
                steps=((site.location(), Message("requires_grad-missing.made")),),
            )


def _model_left_out(loss: Loss, situation: Situation) -> Iterable[Explanation]:
    """Something trains in this program, and the loss was made without it."""
    trainable = [p for p in situation.names.all_parameters() if p.requires_grad]
    trainable += [p for made in situation.watch.journal.optimizers for p in made.parameters() if p.requires_grad]
    computed = [r for r in loss.reached if r.record.site is not None and not _is_factory(r)]
    if trainable and (computed or loss.reached[0].record.site is not None):
        # A loss that is a constant itself, as for a batch with nothing to learn from, is made on its own line.
        place, subject = (
            definition(loss, through_arithmetic=True) or _of(computed[0].record)
            if computed
            else _of(loss.reached[0].record)
        )
        yield Explanation(
            cause="module-unused",
            at=place,
            subject=subject,
            certain=False,
            trains=True,
            distance=len(loss.reached),
            steps=((place, Message("module-unused.made")),),
        )
    elif not trainable:
        made = [r for r in loss.reached if r.record.site is not None and _is_factory(r)]
        if made and (site := made[-1].record.site) is not None:
            yield Explanation(
                cause="requires_grad-missing",
                at=site.location(),
                subject=site.expression(),
                certain=False,
                trains=True,
                distance=0,
                site=site,
                steps=((site.location(), Message("requires_grad-missing.made")),),
            )


def _other_model(reached: Reached) -> Explanation:
    """The loss was made by a module that is not to be trained, and by no other: the line that calls it."""
    chain = reached.record.chain
    place = next((site for site in chain if site.code.co_name not in ("forward", "__call__")), chain[0])
    return Explanation(
        cause="module-unused",
        at=place.location(),
        subject=place.expression(),
        certain=False,
        trains=True,
        distance=reached.distance,
        site=place,
        steps=((place.location(), Message("module-unused.other")),),
    )


def _of(record: Record) -> tuple[Location, str]:
    site = record.site
    assert site is not None
    return site.location(), site.expression()


def _is_factory(reached: Reached) -> bool:
    row = table.load().op(torch_name(reached.record.func))
    return not reached.record.parents or (row is not None and row.effect in ("constant", "builds"))
