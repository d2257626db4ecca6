"""A Python that has torch already: runs scripts in forks of one process, each as ``python SCRIPT`` would be run in its folder.

Orders come as lines of JSON on standard input, exit codes go out as lines on standard output. Importing torch takes longer than
most of the cases run, and there are a few thousand runs.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

SECONDS = 180


def serve() -> None:
    import torch

    # What optimizers, the compiler and DDP import when they are first used: once here, and not in each fork.
    import torch._dynamo.backends.debugging
    import torch._functorch.aot_autograd
    import torch.distributed.tensor

    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            act(order)
        print(ended(child), flush=True)


def act(order: dict[str, object]) -> None:
    """In the fork: never returns."""
    os.setsid()
    os.chdir(str(order["folder"]))
    for name, number in (("out", 1), ("err", 2)):
        descriptor = os.open(f"{order['files']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = [str(part) for part in order["arguments"]]  # type: ignore[attr-defined]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    if order["warn"]:
        warnings.simplefilter("default", UserWarning)
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def ended(child: int) -> int:
    """The exit code of a fork; 124 where it took too long."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 124


class Warm:
    """The other end: one server, started when it is first asked."""

    server: subprocess.Popen[str] | None = None
    preload: tuple[str, ...] = ()

    def restart(self, preload: tuple[str, ...] = ()) -> None:
        """A new one for the next script, which has these modules too."""
        if self.server is not None:
            self.server.communicate()
        self.server, self.preload = None, preload

    def run(self, arguments: list[str], folder: Path, warn: bool) -> tuple[int, str, str]:
        if self.server is None:
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            self.server = subprocess.Popen(
                [sys.executable, __file__, *self.preload],
                env=environment | {"OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.server.stdin is not None and self.server.stdout is not None
        files = folder / ".printed"
        order = {"arguments": arguments, "folder": str(folder), "files": str(files), "warn": warn}
        print(json.dumps(order), file=self.server.stdin, flush=True)
        code = int(self.server.stdout.readline())
        out, err = (Path(f"{files}.{name}").read_text("utf-8", "replace") for name in ("out", "err"))
        return code, out, err


if __name__ == "__main__":
    serve()
