"""Makes torch raise each message, and asks every probe whether it is its own: a fork for each, one JSON file for each.

usage: python run_messages.py FOLDER PART OF
"""

from __future__ import annotations

import gc
import json
import linecache
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import torch
import torch.distributed
from torch.autograd import forward_ad

from gradwhy.runtime.failure import Failure, failures
from gradwhy.runtime.probes import Probe, all_probes, stated

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
    return stated.symptom(failure) if probe.SYMPTOM == stated.SYMPTOM else probe.SYMPTOM


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


def main() -> None:
    out, part, parts = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warm_up()
    for message in tomllib.loads(MESSAGES.read_text("utf-8"))["message"][part::parts]:
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                said = outcome(message["program"], out / f"{message['id']}.py")
                (out / f"{message['id']}.json").write_text(json.dumps(said))
            finally:
                os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
