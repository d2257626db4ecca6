"""Layers that PEFT freezes with the rest: told where this run made them, and not where they were given their values."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
import io
import tempfile

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import BertConfig, BertModel

torch.manual_seed(0)


def small():
    return BertModel(BertConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                                max_position_embeddings=8))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = small()
        self.head = nn.Linear(16, 3)

    def forward(self, ids):
        return self.head(self.bert(ids).pooler_output)


def train(model, steps=4):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(steps):
        ids = torch.randint(0, 20, (6, 5))
        loss = nn.functional.cross_entropy(model(ids), ids[:, 0] % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def adapt(model):
    return get_peft_model(model, LoraConfig(r=2, target_modules=["query", "value"]))


"""

FROZEN_NEW = "train(adapt(Tagger()))"
RIGHT = {
    "named in modules_to_save": """
        train(get_peft_model(Tagger(), LoraConfig(r=2, target_modules=["query", "value"], modules_to_save=["head"])))
    """,
    "loaded": """
        kept = Tagger().state_dict()
        model = Tagger()
        model.load_state_dict(kept)
        train(adapt(model))
    """,
    "unpickled": """
        kept = io.BytesIO()
        torch.save(Tagger(), kept)
        kept.seek(0)
        train(adapt(torch.load(kept, weights_only=False)))
    """,
    "written by hand": """
        model = Tagger()
        with torch.no_grad():
            model.head.weight.copy_(torch.eye(3, 16))
            model.head.bias.zero_()
        train(adapt(model))
    """,
    "trained before": """
        model = Tagger()
        model.bert.eval().requires_grad_(False)
        train(model)
        train(adapt(model))
    """,
    "all of it the user's own": """
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.query, self.head = nn.EmbeddingBag(20, 16), nn.Linear(16, 16), nn.Linear(16, 3)

            def forward(self, ids):
                return self.head(self.query(self.embed(ids)).relu())

        train(get_peft_model(Own(), LoraConfig(r=2, target_modules=["query"])))
    """,
    "a subclass of a package's, with its checkpoint": """
        class Sub(BertModel):
            def __init__(self, config):
                super().__init__(config)
                self.extra = nn.Linear(16, 3)
                self.post_init()

            def forward(self, ids):
                return self.extra(super().forward(ids).pooler_output)

        with tempfile.TemporaryDirectory() as folder:
            Sub(small().config).save_pretrained(folder)
            train(adapt(Sub.from_pretrained(folder)))
    """,
}


def told(part: str, gradwhy: Run, folder: Path) -> list[tuple[str, str]]:
    (folder / "train.py").write_text(PROGRAM.lstrip() + textwrap.dedent(part).strip() + "\n", encoding="utf-8")
    ended = gradwhy("audit", "--format", "json", "--output", "report.json", "train.py")
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert "Traceback" not in ended.stderr, ended.stderr
    return [(f["cause"], f["subject"]) for f in report["findings"] if f["severity"] != "note"]


def test_a_layer_that_this_run_made(gradwhy: Run, tmp_path: Path) -> None:
    call = 'get_peft_model(model, LoraConfig(r=2, target_modules=["query", "value"]))'
    assert told(FROZEN_NEW, gradwhy, tmp_path) == [("frozen-part", call)]


@pytest.mark.parametrize("name", RIGHT)
def test_layers_that_have_their_values(name: str, gradwhy: Run, tmp_path: Path) -> None:
    assert told(RIGHT[name], gradwhy, tmp_path) == []
