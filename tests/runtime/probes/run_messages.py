"""Makes torch raise each message, and asks every probe whether it is its own: a fork for each, one JSON file for each.

Where a probe answers for a message, its program is also run under gradwhy, for the report.

usage: python run_messages.py FOLDER PART OF
"""

from __future__ import annotations

import gc
import json
import linecache
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed
from run_marked import run
from torch.autograd import forward_ad

from gradwhy.runtime.failure import Failure, failures
from gradwhy.runtime.probes import Probe, all_probes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

torch.set_num_threads(1)
MESSAGES = Path(__file__).parents[2] / "messages.toml"
PROBES = [load() for load in all_probes()]


def warm_up() -> None:
    """What torch imports at the first use, once for all forks."""
    torch.compile(lambda x: x.sin().sum(), backend="aot_eager")(torch.ones(2, requires_grad=True)).backward()
    torch.func.vmap(torch.func.grad(lambda x: x.square()))(torch.ones(2))
    with forward_ad.dual_level():
        forward_ad.make_dual(torch.ones(2), torch.ones(2)).sin()
    # The first torch.compile of a process turns this off (torch/_dynamo/eval_frame.py).
    torch.distributions.Distribution.set_default_validate_args(True)
    gc.collect()
    gc.freeze()  # a collection in a fork would copy what is shared


def symptom_of(probe: Probe, failure: Failure) -> str:
    """What the probe calls a failure that it matches."""
    own: Callable[[Failure], str] | None = getattr(probe, "symptom", None)
    return own(failure) if own is not None else probe.SYMPTOM


def outcome(program: str, file: Path) -> list[dict[str, object]]:
    """What a program ended with: each exception of the chain, the outermost first, and the probes that match it."""
    file.write_text(program)
    linecache.checkcache(str(file))
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = str(file)
    try:
        exec(compile(program, str(file), "exec", dont_inherit=True), main.__dict__)
    except BaseException as error:
        return [
            {
                "raised": type(failure.error).__name__,
                "text": failure.text,
                "probes": [symptom_of(probe, failure) for probe in PROBES if probe.matches(failure)],
            }
            for failure in failures(error)
        ]
    return []


def in_a_fork(do: Callable[..., object], *given: object) -> None:
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            do(*given)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def note(message: dict[str, str], out: Path) -> None:
    said = outcome(message["program"], out / f"{message['id']}.py")
    (out / f"{message['id']}.json").write_text(json.dumps(said))


def main() -> None:
    out, part, parts = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warm_up()
    (out / "reports").mkdir(exist_ok=True)
    for message in tomllib.loads(MESSAGES.read_text("utf-8"))["message"][part::parts]:
        in_a_fork(note, message, out)
        if message["symptom"]:
            program = {"text": message["program"], "nan": False, "trace": "auto"}
            in_a_fork(run, program, out / message["id"], out / "reports" / f"{message['id']}.json")


if __name__ == "__main__":
    main()
