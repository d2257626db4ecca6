"""``gradwhy check --project``: faults that lie in another file than the loss, and what the settings say of unseen functions.

Each project is a dict of files. Where a fault is expected, ``python`` is asked whether the program really fails.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import published
import pytest
from conftest import Run

from gradwhy.static import looking
from gradwhy.static.reading import Reading
from gradwhy.static.settings import Knowledge

ROOT = Path(__file__).parents[1]
TRAIN = """
import torch
IMPORT

net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
loss = LOSS(net(torch.ones(4, 3)), torch.ones(4))
loss.backward()
opt.step()
"""
HARD = """
import torch


def focal(logits, y):
    p = logits.argmax(dim=1).float()
    return ((p - y) ** 2).mean()


def soft(logits, y):
    return ((logits.softmax(dim=1)[:, 1] - y) ** 2).mean()
"""


def train(imports: str, loss: str) -> str:
    return TRAIN.replace("IMPORT", imports).replace("LOSS", loss)


def written(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content).lstrip("\n"), "utf-8")


NET = """
import torch
from torch import nn
from .layers import Head


class Net(nn.Module):
    def __init__(self, hard):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.head = Head(hard)

    def forward(self, x):
        return self.head(self.body(x))
"""
LAYERS = """
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, hard):
        super().__init__()
        self.hard = hard

    def forward(self, x):
        if self.hard:
            return x.detach().sum()
        return x.sum()
"""
USES_NET = """
import torch
from models.net import Net

net = Net(HARD)
opt = torch.optim.SGD(net.parameters(), 0.1)
net(torch.ones(2, 3)).backward()
opt.step()
"""
NO_MAIN = """
from torch import ones
from models import net as parts, build


def main():
    net = build(parts.Net)
    net(ones(2, 3)).backward()


if __name__ == "__main__":
    main()
"""
CONFIG = """
import torch
from config import FREEZE

net = torch.nn.Linear(3, 2)
if FREEZE:
    for parameter in net.parameters():
        parameter.requires_grad = False
net(torch.ones(2, 3)).sum().backward()
"""
MODE = "import torch\ntorch.set_grad_enabled(VALUE)\n"
REGISTRY = """
import torch
from registry import LOSSES
import losses, more

net = torch.nn.Linear(3, 2)
LOSSES["NAME"](net(torch.ones(4, 3)), torch.ones(4)).backward()
"""
REGISTER = """
LOSSES = {}


def register(name):
    def put(function):
        LOSSES[name] = function
        return function
    return put
"""
REGISTERED = """
import torch
from registry import register


@register("NAME")
def loss(logits, y):
    return BODY
"""

# name: (files, the finding as "cause file:line" or "", the command's arguments)
PROJECTS: dict[str, tuple[dict[str, str], str]] = {
    "a function": ({"losses.py": HARD, "train.py": train("from losses import focal", "focal")}, "argmax losses.py:5"),
    "its twin": ({"losses.py": HARD, "train.py": train("from losses import soft", "soft")}, ""),
    "a module under another name": (
        {"lib/losses.py": HARD, "train.py": train("import lib.losses as L", "L.focal")}, "argmax lib/losses.py:5"),
    "a dotted name": (
        {"lib/losses.py": HARD, "train.py": train("import lib.losses", "lib.losses.focal")}, "argmax lib/losses.py:5"),
    "a file in a folder": (
        {"lib/losses.py": HARD, "train.py": train("from lib import losses", "losses.focal")}, "argmax lib/losses.py:5"),
    "a file in a folder beside the script": (
        {"s/lib/losses.py": HARD, "s/train.py": train("from lib import losses", "losses.focal")},
        "argmax s/lib/losses.py:5"),
    "a folder that only has the name of a package": (
        {"fsspec/notes.txt": "", "train.py": train("import fsspec\nfrom fsspec import filesystem",
         "lambda a, b: a.sum() if fsspec.filesystem and filesystem else a")}, ""),
    "a name that a package hands on": (
        {"lib/__init__.py": "from .losses import focal as hard", "lib/losses.py": HARD,
         "train.py": train("from lib import hard", "hard")}, "argmax lib/losses.py:5"),
    "a file of a package": (
        {"lib/__init__.py": "", "lib/losses.py": HARD, "train.py": train("from lib import losses", "losses.focal")},
        "argmax lib/losses.py:5"),
    "all names": ({"losses.py": HARD, "train.py": train("from losses import *", "focal")}, "argmax losses.py:5"),
    "all names that are listed": (
        {"losses.py": HARD + "\n__all__ = ['soft']\n",
         "train.py": train("focal = torch.nn.functional.mse_loss\nfrom losses import *", "soft")}, ""),
    "not a name that is not listed": (
        {"losses.py": HARD + "\n__all__ = ['soft']\n",
         "train.py": train("def focal(a, b):\n    return a.sum()\nfrom losses import *", "focal")}, ""),
    "one of two ways": (
        {"losses.py": HARD,
         "train.py": train("try:\n    from losses import focal\nexcept ImportError:\n    raise", "focal")},
        "argmax losses.py:5"),
    "an import in a function": (
        {"losses.py": HARD,
         "train.py": train("def cost(a, b):\n    from losses import focal\n    return focal(a, b)", "cost")},
        "argmax losses.py:5"),
    "a circle": (
        {"losses.py": HARD + "\nimport names\n", "names.py": "from losses import focal\nhard = focal\n",
         "train.py": train("from names import hard\nimport losses", "losses.names.hard")}, "argmax losses.py:5"),
    "classes, relative": (
        {"models/__init__.py": "", "models/net.py": NET, "models/layers.py": LAYERS,
         "train.py": USES_NET.replace("HARD", "True")}, "detach models/layers.py:12"),
    "classes, relative, its twin": (
        {"models/__init__.py": "", "models/net.py": NET, "models/layers.py": LAYERS,
         "train.py": USES_NET.replace("HARD", "False")}, ""),
    "a script of few words": (
        {"models/__init__.py": "def build(kind):\n    return kind(True)\n", "models/net.py": NET,
         "models/layers.py": LAYERS, "train.py": NO_MAIN}, "detach models/layers.py:12"),
    "a constant": ({"config.py": "FREEZE = True", "train.py": CONFIG}, "frozen-all train.py:7"),
    "a constant, its twin": ({"config.py": "FREEZE = False", "train.py": CONFIG}, ""),
    "a switch at the top of a file": (
        {"losses.py": HARD, "setup.py": MODE.replace("VALUE", "False"),
         "train.py": train("import setup\nfrom losses import soft", "soft")}, "grad-mode-left-off setup.py:2"),
    "a table that other files fill": (
        {"registry.py": REGISTER, "losses.py": REGISTERED.replace("NAME", "a").replace("BODY", "logits.sum()"),
         "more.py": REGISTERED.replace("NAME", "b").replace("BODY", "logits.argmax(1).float().sum()"),
         "train.py": REGISTRY.replace("NAME", "a")}, ""),
    "a name of Python's library": (
        {"copy.py": "def copy(x):\n    return x.detach()\n", "lib/random.py": "def f(x): return x.detach()",
         "lib/train.py": train("import json", "lambda a, b: a.sum()")}, ""),
    "what is installed": (
        {"venv2/lib/python3/site-packages/lossy.py": HARD,
         "train.py": train("try:\n    from lossy import focal\nexcept ImportError:\n    focal = lambda a, b: a.sum()", "focal")},
        ""),
}  # fmt: skip


def found(run: Any) -> list[str]:
    data = json.loads(run.stdout)
    assert data["notes"] == []
    return [f"{f['cause']} {f['at']['file']}:{f['at']['line']}" for f in data["findings"]]


@pytest.mark.parametrize("name", PROJECTS)
def test_a_fault_in_another_file_is_found_where_it_lies(gradwhy: Run, python: Run, tmp_path: Path, name: str) -> None:
    files, expected = PROJECTS[name]
    written(tmp_path, files)
    assert found(gradwhy("check", "--project", "--format", "json", ".")) == ([expected] if expected else [])
    script = next(file for file in files if file.endswith("train.py"))
    ran = python(script)
    assert ("RuntimeError" in ran.stderr) == bool(expected), ran.stderr


def test_without_the_option_each_file_is_read_by_itself(gradwhy: Run, tmp_path: Path) -> None:
    written(tmp_path, PROJECTS["a function"][0])
    assert found(gradwhy("check", "--format", "json", ".")) == []


def test_a_package_below_src_is_found_from_the_projects_file(gradwhy: Run, python: Run, tmp_path: Path) -> None:
    files = {"pyproject.toml": "", "src/lib/__init__.py": "", "src/lib/deep/losses.py": HARD,
             "src/lib/deep/__init__.py": "from lib.deep.losses import *",
             "scripts/train.py": train("from lib.deep import focal", "focal")}  # fmt: skip
    written(tmp_path, files)
    run = gradwhy("check", "--project", "--format", "json", "scripts/train.py")
    assert found(run) == ["argmax src/lib/deep/losses.py:5"]
    assert "RuntimeError" in python("scripts/train.py", env={"PYTHONPATH": "src"}).stderr


def test_two_files_of_one_name_are_told_apart_by_the_scripts_folder(gradwhy: Run, tmp_path: Path) -> None:
    files = {"losses.py": HARD.replace("argmax(dim=1)", "amax(dim=1)"), "old/losses.py": HARD,
             "old/train.py": train("from losses import focal", "focal"),
             "train.py": train("from losses import focal", "focal")}  # fmt: skip
    written(tmp_path, files)
    assert found(gradwhy("check", "--project", "--format", "json", ".")) == ["argmax old/losses.py:5"]


def test_snippets_come_from_both_files(gradwhy: Run, tmp_path: Path) -> None:
    written(tmp_path, PROJECTS["a function"][0])
    said = gradwhy("check", "--project", "train.py").stdout
    assert "losses.py:5" in said.splitlines()[0]
    assert "5 | p = logits.argmax(dim=1).float()" in said
    assert "7 | loss.backward()" in said


IMPORTERS = {"losses.py": HARD, **{f"train{i}.py": train("from losses import focal", "focal") for i in range(30)}}


def test_what_many_files_import_is_told_once(gradwhy: Run, tmp_path: Path) -> None:
    written(tmp_path, IMPORTERS)
    one = gradwhy("check", "--project", "--no-cache", "--jobs", "1", "--format", "json", ".")
    two = gradwhy("check", "--project", "--no-cache", "--jobs", "2", "--format", "json", ".")
    assert found(one) == ["argmax losses.py:5"]
    assert one.stdout == two.stdout


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"losses.py": HARD.replace(".float()", ".float()  # gradwhy: ignore[argmax]")}, 0),
        ({"losses.py": HARD.replace(".float()", ".float()  # gradwhy: ignore[detach]")}, 1),
        ({"train.py": train("from losses import focal", "focal") + "# gradwhy: ignore[argmax]\n"}, 1),
        ({"pyproject.toml": "[tool.gradwhy]\nexclude = ['losses.py']\n"}, 0),
        ({"pyproject.toml": "[tool.gradwhy]\nexclude = ['other.py']\n"}, 1),
        ({"pyproject.toml": "[tool.gradwhy]\nper-file-ignores = {'losses.py' = ['argmax']}\n"}, 0),
        ({"pyproject.toml": "[tool.gradwhy]\nper-file-ignores = {'train.py' = ['argmax']}\n"}, 1),
        ({".gitignore": "losses.py\n"}, 0),
    ],
)  # fmt: skip
def test_the_file_of_a_fault_decides_whether_it_is_told(
    gradwhy: Run, tmp_path: Path, change: dict[str, str], code: int
) -> None:
    written(tmp_path, PROJECTS["a function"][0] | change)
    assert gradwhy("check", "--project", "train.py").returncode == code


def test_a_look_is_kept_for_as_long_as_nothing_that_it_rests_on_changes(gradwhy: Run, tmp_path: Path) -> None:
    files = {"lib/__init__.py": "from .losses import focal", "lib/losses.py": HARD,
             "train.py": train("from lib import focal", "focal")}  # fmt: skip
    written(tmp_path, files)
    first = gradwhy("check", "--project", ".")
    again = gradwhy("check", "--project", ".")
    assert (again.returncode, again.stdout) == (1, first.stdout)
    written(tmp_path, {"lib/losses.py": HARD.replace("argmax(dim=1)", "amax(dim=1)")})
    assert gradwhy("check", "--project", ".").returncode == 0
    # A new file that an import finds first.
    written(tmp_path, {"lib/losses/__init__.py": HARD})
    assert found(gradwhy("check", "--project", "--format", "json", ".")) == ["argmax lib/losses/__init__.py:5"]


def test_standard_input_sees_the_files_beside_its_name(gradwhy: Run, tmp_path: Path) -> None:
    files, _ = PROJECTS["a function"]
    written(tmp_path, files)
    run = gradwhy("check", "--project", "--format", "json", "-", "--stdin-filename", "t.py", input=files["train.py"])
    assert found(run) == ["argmax losses.py:5"]


def test_a_notebook_keeps_its_cells_and_the_other_file_its_lines(gradwhy: Run, tmp_path: Path) -> None:
    cells = ["%matplotlib inline", train("from losses import focal", "focal")]
    made = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    book = json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    written(tmp_path, {"losses.py": HARD, "notes.ipynb": book})
    (finding,) = json.loads(gradwhy("check", "--project", "--format", "json", "notes.ipynb").stdout)["findings"]
    assert (finding["at"]["file"], finding["at"]["line"], finding["at"]["cell"]) == ("losses.py", 5, None)
    assert (finding["surfaces_at"]["file"], finding["surfaces_at"]["cell"]) == ("notes.ipynb", 2)


BROKEN = {
    "does not parse": "import torch\ndef focal(:\n",
    "imports itself": "import losses\nfrom losses import focal\ndef focal(a, b): return focal(a, b)\n",
    "has no such name": "import torch\n",
    "has an endless top": "import torch\n"
    + "x = [i for i in range(9)]\n" * 9000
    + "def focal(a, b): return a.detach()\n",
    "is no text": "\0\1",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_followed_is_out_of_sight(gradwhy: Run, tmp_path: Path, name: str) -> None:
    written(tmp_path, {"losses.py": BROKEN[name], "train.py": train("from losses import focal", "focal")})
    assert found(gradwhy("check", "--project", "--format", "json", "train.py")) == []


def test_nothing_of_a_project_is_run(gradwhy: Run, tmp_path: Path) -> None:
    files, _ = PROJECTS["a function"]
    written(tmp_path, files | {"losses.py": HARD + "\nopen('ran', 'w').close()\n"})
    assert gradwhy("check", "--project", ".").returncode == 1
    assert not (tmp_path / "ran").exists()


ALONE = sorted([*ROOT.glob("silent/*.py"), *ROOT.glob("cases/*.py"), *published.PROGRAMS])[::12]


@pytest.mark.parametrize("file", ALONE, ids=lambda file: file.name)
def test_a_file_that_imports_nothing_of_a_project_gives_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    alone = looking.look_at(file.name, strict=True)
    project = looking.look_at(file.name, strict=True, reading=Reading(given=(file.name,)))
    assert (project.findings, project.lines, project.notes) == (alone.findings, alone.lines, ())


# -- what the settings say of functions that can't be seen


def declared(table: str) -> str:
    return f"[tool.gradwhy]\n{table}\n"


UNSEEN = {
    "a function": ("from mylib import quantize", "quantize(a).sum()", "mylib.quantize"),
    "a dotted function": ("import mylib.quant as q", "q.quantize(a).sum()", "mylib.quant.quantize"),
    "a method": ("from mylib import Tokenizer\ntokens = Tokenizer()", "tokens.encode(a).sum()", "Tokenizer.encode"),
    "a method by its full name": ("import mylib\ntokens = mylib.Tokenizer()", "tokens.encode(a).sum()", "mylib.Tokenizer.encode"),
    "an object that is called": ("from mylib import Vq\nvq = Vq(3)", "vq(a).sum()", "Vq.forward"),
    "a method that is inherited": ("import mylib\nclass T(mylib.Base):\n    pass\nt = T()", "t.encode(a).sum()", "Base.encode"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN)
def test_what_is_declared_to_cut_cuts_and_what_is_declared_to_keep_keeps(
    gradwhy: Run, tmp_path: Path, name: str
) -> None:
    imports, loss, path = UNSEEN[name]
    program = train(imports + f"\ndef loss_of(a, b):\n    return {loss}", "loss_of")
    written(tmp_path, {"train.py": program, "pyproject.toml": declared(f'cuts = ["{path}"]')})
    run = gradwhy("check", "--format", "json", "train.py")
    line = next(n for n, text in enumerate(program.lstrip("\n").split("\n"), 1) if loss in text)
    assert found(run) == [f"not-differentiable train.py:{line}"]
    written(tmp_path, {"pyproject.toml": declared(f'keeps = ["{path}"]')})
    assert found(gradwhy("check", "--format", "json", "train.py")) == []
    # The argument's own cut is seen through a function that keeps the path, and not through one that is unknown.
    written(tmp_path, {"train.py": program.replace("(a).sum()", "(a.detach()).sum()")})
    assert [item.split()[0] for item in found(gradwhy("check", "--format", "json", "train.py"))] == ["detach"]
    written(tmp_path, {"pyproject.toml": declared("")})
    assert found(gradwhy("check", "--format", "json", "train.py")) == []


def test_a_finding_says_that_the_settings_say_so(gradwhy: Run, tmp_path: Path) -> None:
    program = train("from mylib import quantize", "(lambda a, b: quantize(a).sum())")
    written(tmp_path, {"train.py": program, "pyproject.toml": declared('cuts = ["mylib.quantize"]')})
    wide = {"COLUMNS": "200"}
    english = gradwhy("check", "train.py", env=wide).stdout
    chinese = gradwhy("check", "--lang", "zh", "train.py", env=wide).stdout
    assert "this project's settings list `quantize` under `cuts`" in english
    assert "本项目的设置在 `cuts` 中列出了 `quantize`" in chinese


def test_a_function_that_is_seen_is_read_whatever_is_declared(gradwhy: Run, tmp_path: Path) -> None:
    written(tmp_path, {"losses.py": HARD, "train.py": train("from losses import soft", "soft"),
                       "pyproject.toml": declared('cuts = ["losses.soft"]')})  # fmt: skip
    assert gradwhy("check", "train.py").returncode == 1
    assert gradwhy("check", "--project", "train.py").returncode == 0


def test_the_cache_knows_the_settings(gradwhy: Run, tmp_path: Path) -> None:
    files = {"train.py": train("from mylib import quantize", "(lambda a, b: quantize(a).sum())")}
    written(tmp_path, files | {"pyproject.toml": declared('cuts = ["mylib.quantize"]')})
    assert gradwhy("check", ".").returncode == 1
    written(tmp_path, {"pyproject.toml": declared("")})
    assert gradwhy("check", ".").returncode == 0


@pytest.mark.parametrize(
    "table",
    ['cuts = "mylib.f"', "cuts = [1]", 'cuts = ["f"]', 'keeps = ["my lib.f"]', 'keeps = ["mylib."]',
     'cuts = ["mylib.f"]\nkeeps = ["mylib.f"]', 'cut = ["mylib.f"]'],
)  # fmt: skip
def test_wrong_declarations_are_usage_errors_with_the_files_name(gradwhy: Run, tmp_path: Path, table: str) -> None:
    written(tmp_path, {"train.py": HARD, "pyproject.toml": declared(table)})
    run = gradwhy("check", "train.py")
    assert run.returncode == 2
    assert "pyproject.toml" in run.stderr


def test_a_name_ends_in_a_class_and_its_method_or_is_the_whole() -> None:
    known = Knowledge(frozenset({"mylib.quantize", "Tokenizer.encode"}), frozenset({"a.Vq.forward"}))
    assert known.effect("mylib.quantize") == known.effect("any.where.Tokenizer.encode") == "cut"
    assert known.effect("a.Vq.forward") == "keep"
    assert [known.effect(path) for path in ("other.mylib.quantize", "quantize", "b.Vq.forward", "x")] == [None] * 4
