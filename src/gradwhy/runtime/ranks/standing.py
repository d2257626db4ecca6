"""Where a rank stands: how many passes it has made, and whether it is inside one, or in a collective, that does not end."""

from __future__ import annotations

import _thread
import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gradwhy.findings import Location, Report
from gradwhy.runtime.ranks import job
from gradwhy.runtime.ranks.board import Gone
from gradwhy.runtime.ranks.job import Member
from gradwhy.runtime.sites import Site, frames_from, is_user_file

if TYPE_CHECKING:
    from gradwhy.runtime.watch import Watch

Doing: TypeAlias = Literal["backward", "collective", "forward", "other", "ended", "failed"]

SECONDS = 30.0
VARIABLE = "GRADWHY_STUCK_AFTER"
_SLOWEST, _QUICKEST = 5.0, 0.1
_NAMES_KEPT = 400


@dataclass(frozen=True, slots=True)
class State:
    """What one rank leaves on the board. ``op`` is the call that it is in, ``at`` the user's line of it."""

    rank: int
    doing: Doing
    op: str = ""
    at: Location | None = None
    forwards: int = 0
    """Forward passes of wrapped models with gradients; 0 where they are not counted."""
    backwards: int = 0
    """Calls of ``backward`` that were begun."""
    steps: int = 0
    forward_at: Location | None = None
    backward_at: Location | None = None
    used: Mapping[str, Location] = field(default_factory=dict)
    """Each parameter that the last forward pass used -> the line that used it first; empty where that was not recorded."""
    unused: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        return self.doing in ("backward", "collective", "forward")

    def key(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def from_json(text: str) -> State:
    """The state that ``key`` wrote."""
    data: dict[str, Any] = json.loads(text)
    for name in ("at", "forward_at", "backward_at"):
        data[name] = Location(**data[name]) if data[name] is not None else None
    data["used"] = {name: Location(**place) for name, place in data["used"].items()}
    return State(**(data | {"unused": tuple(data["unused"])}))


class Settings:
    """After how many seconds a rank counts as stuck, 0 for never, and who is told of it while the program runs."""

    seconds = SECONDS
    tell: Callable[[Report], None] | None = None


class Standing:
    """Counts the passes of one rank, and looks from a thread of its own whether the rank goes on."""

    def __init__(self, member: Member, watch: Watch) -> None:
        self.member, self.watch = member, watch
        self.backwards = 0
        self.backward_site: Site | None = None
        self._over = threading.Event()
        self._said = ""

    # -- in the program's own thread

    def went(self, frame: FrameType | None) -> None:
        """``backward`` begins."""
        self.backwards += 1
        for outer in frames_from(frame):
            if is_user_file(outer.f_code.co_filename):
                self.backward_site = Site(outer.f_code, outer.f_lasti)
                return

    def state(self, doing: Doing, op: str = "", at: Location | None = None) -> State:
        """This rank as it is now."""
        wrapped = list(self.watch.parallel.models.values())
        last = max(wrapped, key=lambda each: each.began, default=None)
        backward = self.backward_site
        state = State(
            self.member.rank, doing, op, at,
            forwards=0 if self.watch.compiling.used else sum(each.forwards for each in wrapped),
            backwards=self.backwards,
            steps=self.watch.journal.steps,
            forward_at=last.called[0].location() if last is not None and last.called else None,
            backward_at=backward.location() if backward is not None else None,
        )  # fmt: skip
        if last is None or last.forward is None:
            return state
        model = next((model for model, each in self.watch.parallel.models.items() if each is last), None)
        named = self.watch.parallel.named(model) if model is not None else []
        used = {name: last.forward.parameters[key].location() for name, key in named if key in last.forward.parameters}
        unused = tuple(name for name, _ in named if name not in used)
        return state if len(named) > _NAMES_KEPT else replace(state, used=used, unused=unused)

    # -- in a thread of ours

    def begin(self) -> None:
        """Look from time to time until ``end``. The thread is none of ``threading``'s: a program may count its own."""
        if Settings.seconds > 0:
            _thread.start_new_thread(self._look, ())

    def end(self) -> None:
        self._over.set()

    def _look(self) -> None:
        tick = min(max(Settings.seconds / 6, _QUICKEST), _SLOWEST)
        before: object = None
        since = time.monotonic()
        again = ""
        while not self._over.wait(tick):
            try:
                now = self._signature()
                if now != before:
                    before, since, again = now, time.monotonic(), ""
                    self._withdraw()
                elif time.monotonic() - since >= Settings.seconds:
                    again = self._stuck(again)
            except Gone:
                # Perhaps there is none yet: a store is there when the job has begun.
                continue
            except Exception as fault:
                self.watch.recorder.note_fault(fault)
                return

    def _signature(self) -> object:
        """The stack of the program's own thread, and what it has done so far; None where it is not in torch's hands."""
        frame = sys._current_frames().get(self.watch.thread)
        doing, _, _ = standing_in(frame)
        if doing == "other":
            return None
        places = tuple((id(each.f_code), each.f_lasti) for each in frames_from(frame))
        return places, self.backwards, self.watch.journal.order, self.watch.journal.steps

    def _withdraw(self) -> None:
        if self._said:
            self._said = ""
            self.member.board.post(f"state/{self.member.rank}", "")

    def _stuck(self, again: str) -> str:
        """Say that this rank waits; where all do, and did a moment ago, tell why. Returns what the board has."""
        # Imported here: both need much that a rank which goes on does not.
        from gradwhy.runtime.diagnose import environment
        from gradwhy.runtime.ranks import diverging

        doing, op, at = standing_in(sys._current_frames().get(self.watch.thread))
        if doing == "other":
            return ""
        state = self.state(doing, op, at.location() if at is not None else None)
        self.waiting(state)
        states = gathered(self.member)
        whole = json.dumps([each.key() for each in states])
        if len(states) < self.member.size or whole != again:
            return whole
        if any(each.doing == "failed" for each in states):
            # Its own report says why.
            return whole
        finding = diverging.finding(states, self.member.size, Settings.seconds)
        tell = Settings.tell
        if finding is not None and tell is not None and self.member.board.claim(f"stuck/{_short(whole)}"):
            counts = {"operations": self.watch.recorder.operations, "parameters": 0, "steps": state.steps}
            tell(Report(findings=(finding,), examined=counts, environment=environment()))
        return whole

    def waiting(self, state: State) -> None:
        """Leave word that this rank waited, or still does. Raises Gone."""
        if state.key() != self._said:
            self.member.board.post(f"state/{self.member.rank}", state.key())
            self._said = state.key()


def _short(text: str) -> str:
    """A short key for a text, the same in each process."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def gathered(member: Member) -> list[State]:
    """The states on the board, by rank. Raises Gone."""
    found = [member.board.read(f"state/{rank}") for rank in range(member.size)]
    return [from_json(text) for text in found if text]


_mine: list[Standing] = []


def mine() -> Standing | None:
    """The standing of this process; None where it is no rank, or has not imported torch."""
    return _mine[0] if _mine else None


def start(watch: Watch) -> Standing | None:
    """Begin to count and to look, where this process is a rank."""
    member = job.here()
    if member is None:
        return None
    _mine[:] = [Standing(member, watch)]
    _mine[0].begin()
    return _mine[0]


def ended(member: Member, error: BaseException | None) -> None:
    """Leave word that this rank's program is over, for those that may wait for it. Never raises."""
    standing = mine()
    if standing is None or standing.member is not member or not standing.backwards:
        return
    standing.end()
    failed = error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0))
    if failed and standing._said:
        # It was waiting, and says more by that.
        return
    try:
        member.board.post(f"state/{member.rank}", standing.state("failed" if failed else "ended").key())
    except Exception:
        return


# -- reading a stack

_BACKWARD = ("/torch/autograd/__init__.py", "/torch/autograd/graph.py")
_COLLECTIVE = tuple(
    f"/torch/distributed/{name}.py" for name in ("distributed_c10d", "_functional_collectives", "utils")
)
_FORWARD = ("/torch/nn/parallel/distributed.py",)
# The innermost frame has to be one of those that call into C++ to wait: torch.distributed also writes files and computes.
_WAITS = (*_BACKWARD, *_COLLECTIVE, *_FORWARD)
_CALLS_CPP = "/torch/_ops.py"
# Frames that stand around the function that was called.
_AROUND = frozenset({"wrapper", "inner", "_fn"})


def standing_in(frame: FrameType | None) -> tuple[Doing, str, Site | None]:
    """What the innermost frames of a stack do for the user's program: (what, torch's name of the call, the user's line)."""
    stack = ((each.f_code, each.f_lasti) for each in frames_from(frame))
    return read_stack((code.co_filename, code.co_name, Site(code, lasti)) for code, lasti in stack)


def read_stack(frames: Iterable[tuple[str, str, Site]]) -> tuple[Doing, str, Site | None]:
    """The same, from (file, function, site) of each frame, the innermost first."""
    doing: Doing = "other"
    op = ""
    innermost = True
    for filename, name, site in frames:
        if is_user_file(filename):
            return doing, op, site
        path = filename.replace("\\", "/")
        if innermost and not path.endswith(_CALLS_CPP):
            if not path.endswith(_WAITS):
                return "other", "", None
            innermost = False
        if path.endswith(_BACKWARD) and name in ("backward", "grad", "_engine_run_backward"):
            doing, op = "backward", "backward" if name != "grad" else "grad"
        elif doing != "backward" and path.endswith(_FORWARD):
            doing, op = "forward", "forward"
        elif doing not in ("backward", "forward") and path.endswith(_COLLECTIVE):
            doing, op = "collective", op if name in _AROUND and op else name
    return doing, op, None
