"""What the full pages say of torch is tried: a file of ``tried/`` has a page's own words, and programs that show them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gradwhy.catalog import load

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "tried"
PRELUDE = """\
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
torch.set_num_threads(1)
warnings.simplefilter("ignore")
"""
# Each claim runs in a fork of one process that has torch, so that none sees what another switched on.
RUNNER = """
import json, os, sys
import torch._dynamo.backends.debugging
for number, code in enumerate(json.load(open(sys.argv[1]))):
    child = os.fork()
    if child == 0:
        try:
            exec(compile(code, "claim", "exec"), {"__name__": "__main__"})
            said = "fine"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        open(f"{sys.argv[1]}.{number}", "w").write(said)
        os._exit(0)
    os.waitpid(child, 0)
"""
CLAIMS: list[tuple[str, dict[str, Any]]] = [
    (file.stem, claim)
    for file in sorted(FOLDER.iterdir())
    for claim in tomllib.loads(file.read_text("utf-8"))["claims"]
]


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    programs = tmp_path_factory.mktemp("tried") / "programs.json"
    programs.write_text(json.dumps([PRELUDE + claim["code"] for _, claim in CLAIMS]))
    subprocess.run([sys.executable, "-c", PRELUDE + RUNNER, programs], check=True, capture_output=True)
    return [Path(f"{programs}.{number}").read_text() for number in range(len(CLAIMS))]


@pytest.mark.parametrize("number", range(len(CLAIMS)), ids=[f"{name}: {claim['says'][:60]}" for name, claim in CLAIMS])
def test_torch_does_what_the_page_says(number: int, said: list[str]) -> None:
    name, claim = CLAIMS[number]
    text = load.text(name, "en")
    assert text is not None
    assert claim["says"] in one_line(text.page), "the page does not say this any more"
    wanted = claim.get("raises", "fine")
    assert wanted in one_line(said[number]) if "raises" in claim else said[number] == wanted
