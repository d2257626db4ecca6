"""Which lines a value may come from: rather one too many than one too few."""

from __future__ import annotations

import ast

from gradwhy.source.slicing import lines_behind, names_read
from gradwhy.source.text import SourceText

PROGRAM = """\
def score(model, x):
    out = model(x)
    return out.mean().item()

def train(model, data):
    losses, unused = [], 0
    for x in data:
        value = score(model, x)
        losses.append(value)
        unused = unused + 1
    loss = torch.tensor(losses).mean()
    loss.backward()
"""


def behind(line: int) -> set[int]:
    source = SourceText("a.py", PROGRAM)
    statement = source.statement_at(line)
    assert isinstance(statement, ast.Expr)
    return lines_behind(source, statement.value)


def test_over_names_lists_and_calls() -> None:
    assert behind(12) >= {12, 11, 9, 8, 3}


def test_not_over_what_does_not_feed_it() -> None:
    assert 10 not in behind(12)


def test_names_with_their_attributes() -> None:
    assert names_read(ast.parse("self.a.b + c[d]", mode="eval")) == {"self", "self.a", "self.a.b", "c", "d"}
