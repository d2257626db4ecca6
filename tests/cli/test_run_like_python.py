"""``gradwhy run`` runs a program as ``python`` does: what it sees, what it prints, how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

Write = Callable[..., Path]

SEES = """
    import sys, os, json
    print(json.dumps({
        "argv": sys.argv, "name": __name__, "file": __file__, "doc": __doc__, "path0": sys.path[0],
        "package": __package__, "spec": __spec__ is None, "cwd": os.getcwd(),
        "main": sys.modules["__main__"].__dict__ is globals(),
        "globals": sorted(globals()), "loader": type(__loader__).__name__,
    }))
"""


def same(a: object, b: object) -> None:
    assert (a.returncode, a.stdout, a.stderr) == (b.returncode, b.stdout, b.stderr)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["train.py", "inner/train.py"])
def test_a_script_sees_what_it_always_sees(program: Write, python: Run, gradwhy: Run, name: str) -> None:
    program(SEES, name)
    same(gradwhy("run", name, "--lr", "0.1", "-x"), python(name, "--lr", "0.1", "-x"))


def test_a_module_by_name(program: Write, python: Run, gradwhy: Run) -> None:
    program("", "package/__init__.py")
    program(SEES.replace("__spec__ is None", "__spec__.name"), "package/train.py")
    same(gradwhy("run", "-m", "package.train", "a"), python("-m", "package.train", "a"))


def test_a_folder_with_a_main(program: Write, python: Run, gradwhy: Run) -> None:
    program("import sys; print(sys.argv, __name__, sys.path[0])", "app/__main__.py")
    same(gradwhy("run", "app", "a"), python("app", "a"))


ENDINGS = {
    "to its end": "print('fine')",
    "exit code": "import sys; sys.exit(7)",
    "exit text": "import sys; sys.exit('that was it')",
    "exit none": "raise SystemExit",
    "exception": "def f():\n    return 1 / 0\nf()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('inner') from e",
    "context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('inner')",
    "group": "import sys\nif sys.version_info >= (3, 11):\n    raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "own hook": "import sys\nsys.excepthook = lambda *a: print('mine', a[1], file=sys.stderr)\n1 / 0",
    "broken hook": "import sys\ndef hook(*a): raise KeyError('no')\nsys.excepthook = hook\n1 / 0",
    "atexit": "import atexit, sys\natexit.register(lambda: print('bye'))\nsys.exit(3)",
    "thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print('late'))).start()\nprint('main')",
    "os._exit": "import os; os._exit(5)",
    "interrupt": "raise KeyboardInterrupt",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "syntax error": "def f(:\n    pass",
    "printed by itself": "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()",
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_program_ends_as_it_always_ends(program: Write, python: Run, gradwhy: Run, how: str) -> None:
    program(ENDINGS[how])
    plain, watched = python("train.py"), gradwhy("run", "train.py")
    assert watched.returncode == plain.returncode
    assert watched.stdout == plain.stdout
    lines = watched.stderr.splitlines()
    if lines and lines[-1].startswith("gradwhy: "):
        lines.pop()
    assert lines == plain.stderr.splitlines(), "one quiet line at most"


TRAINS = """
    import hashlib, warnings, torch
    from torch import nn
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.TransformerEncoder(layer, 2), nn.Dropout(0.1), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    for step in range(8):
        x = torch.randn(5, 5, 4)
        loss = nn.functional.mse_loss(model(x), x.mean(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        model.eval()
        with torch.inference_mode():
            held = model(x).sum()
        model.train()
        print(step, repr(loss.item()), repr(held.item()), float(held), (x * 2).requires_grad_().grad)
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
    print(digest.hexdigest(), torch.randn(1).item())
    (x * loss.detach().requires_grad_()).grad
"""


@pytest.mark.parametrize("trace", ["auto", "always", "never"])
def test_the_same_bits_output_and_warnings(program: Write, python: Run, gradwhy: Run, trace: str) -> None:
    """Evaluation takes torch's fast path for transformers, which a mode on the stack would switch off."""
    program(TRAINS)
    same(gradwhy("run", "--trace", trace, "--output", "report.txt", "train.py"), python("train.py"))


FAILS = """
    import logging, torch
    w = torch.ones(3, requires_grad=True)
    def loss_of(w):
        return (w * 2).detach().sum()
    try:
        loss_of(w).backward()
    except RuntimeError:
        logging.exception("caught")
    torch.nn.functional.mse_loss(torch.ones(2, requires_grad=True), torch.ones(3))
"""


def test_tracebacks_through_torch_functions_are_the_same(program: Write, python: Run, gradwhy: Run) -> None:
    program(FAILS)
    same(gradwhy("run", "--output", "report.txt", "train.py"), python("train.py"))


def test_what_a_script_sets_before_importing_torch_counts(program: Write, python: Run, gradwhy: Run) -> None:
    program("""
        import os, sys
        assert "torch" not in sys.modules
        os.environ["OMP_NUM_THREADS"] = "2"
        import torch
        print(torch.get_num_threads(), torch.__spec__.loader is torch.__loader__, type(torch.__loader__).__name__)
    """)
    same(gradwhy("run", "train.py"), python("train.py"))


def test_worker_processes_of_a_data_loader(program: Write, python: Run, gradwhy: Run) -> None:
    program("""
        import torch
        from torch.utils.data import DataLoader
        class Rows(torch.utils.data.Dataset):
            def __len__(self): return 6
            def __getitem__(self, i): return torch.full((2,), float(i)) * 2
        if __name__ == "__main__":
            for context in ("fork", "spawn"):
                for batch in DataLoader(Rows(), 3, num_workers=2, multiprocessing_context=context):
                    print(batch.tolist())
    """)
    same(gradwhy("run", "train.py"), python("train.py"))


def test_the_users_own_modes_and_devices_nest_as_written(program: Write, python: Run, gradwhy: Run) -> None:
    program("""
        import torch
        from torch.overrides import TorchFunctionMode
        class Loud(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                if getattr(func, "__name__", "") == "exp":
                    print("exp")
                return func(*args, **(kwargs or {}))
        with Loud():
            torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
            torch.exp(torch.ones(1))
        torch.set_default_device("cpu")
        with torch.device("meta"):
            print(torch.ones(2).device)
        torch.set_default_device(None)
        print(torch.overrides._get_current_function_mode_stack().__len__() <= 1)
    """)
    same(gradwhy("run", "train.py"), python("train.py"))


def test_a_compiled_function_runs(program: Write, python: Run, gradwhy: Run) -> None:
    program("""
        import torch
        f = torch.compile(lambda x: (x * 2).sum(), backend="eager")
        x = torch.ones(3, requires_grad=True)
        f(x).backward()
        print(x.grad)
    """)
    plain, watched = python("train.py"), gradwhy("run", "train.py")
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    assert "torch.compile" in watched.stderr, "the report says that compiled steps ran eager"
