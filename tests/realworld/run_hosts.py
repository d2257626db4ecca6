"""``tests/run_programs.py`` in a process that has imported the hosts too, so that a fork for each program starts at once.

usage: python run_hosts.py FOLDER PROGRAM...      loud faults under ``gradwhy run``, the others under ``gradwhy audit``
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
warnings.filterwarnings("ignore")

import accelerate  # noqa: E402, F401
import lightning  # noqa: E402, F401
import peft  # noqa: E402, F401
import run_programs  # noqa: E402
import timm  # noqa: E402, F401
import torch._dynamo  # noqa: E402, F401
import torchvision  # noqa: E402, F401
from transformers import BertForSequenceClassification, GPT2LMHeadModel, Trainer, ViTModel, pipeline  # noqa: E402, F401


def main() -> None:
    out, *programs = map(Path, sys.argv[1:])
    for program in programs:
        facts = json.loads(program.with_name(f"{program.name.partition('.')[0]}.json").read_text("utf-8"))
        run_programs.report(program, out / f"{program.stem}.json", audit=facts["raises"] is None)


if __name__ == "__main__":
    main()
