"""A collective that failed since other ranks did not come to it: what they did instead. Asks them over the job's own store."""

from __future__ import annotations

import re
import time

from gradwhy.findings import Finding
from gradwhy.runtime.failure import Failure
from gradwhy.runtime.probes import Situation
from gradwhy.runtime.ranks import diverging, here, standing
from gradwhy.runtime.ranks.board import Gone

SYMPTOM = "ranks-stuck"
# A rank that was killed is waited for in the same way: then nothing in the program is to blame.
MAY_BE_SILENT = True
# What gloo says (torch's third_party/gloo: transport/tcp/pair.cc, unbound_buffer.cc).
_LOST = re.compile(
    r"Timed out waiting \d+ms for (?:recv|send) operation to complete|Connection (?:closed|reset) by peer \["
)
_WAIT = 2.0


def matches(failure: Failure) -> bool:
    return here() is not None and isinstance(failure.error, RuntimeError) and _LOST.search(failure.text) is not None


def diagnose(situation: Situation) -> list[Finding]:
    mine = standing.mine()
    if mine is None:
        return []
    frames = ((each.site.file, each.site.code.co_name, each.site) for each in reversed(situation.failure.frames))
    doing, op, at = standing.read_stack(frames)
    if doing == "other":
        return []
    try:
        mine.waiting(mine.state(doing, op, at.location() if at is not None else None))
        states = _all(mine.member.size, mine)
    except Gone:
        return []
    if any(state.doing == "failed" for state in states):
        # One that failed by itself is the cause: its own report says why.
        return []
    found = diverging.finding(states, mine.member.size)
    return [found] if found is not None else []


def _all(size: int, mine: standing.Standing) -> list[standing.State]:
    """What each rank has left: those that end at the same time may need a moment."""
    end = time.monotonic() + _WAIT
    while True:
        states = standing.gathered(mine.member)
        if len(states) == size or time.monotonic() > end:
            return states
        time.sleep(0.05)
