"""``gradwhy.explain(error)``: an answer where nothing was watched, that shows itself in a prompt and in a notebook."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch

import gradwhy
from gradwhy.findings import Report

Write = Callable[..., Path]
Run = Callable[..., "CompletedProcess[str]"]


def fails() -> RuntimeError:
    model = torch.nn.Linear(3, 1)
    pred = model(torch.ones(4, 3)).argmax(1).float()
    try:
        pred.mean().backward()
    except RuntimeError as error:
        return error
    raise AssertionError


def test_nothing_was_watched_and_the_line_is_likely() -> None:
    found = gradwhy.explain(fails())
    assert isinstance(found, Report)
    assert [(each.cause, each.certainty) for each in found.findings] == [("argmax", "likely")]
    assert str(found).startswith("likely[argmax]") and "23 | pred = model(" in str(found)
    assert repr(found) == str(found)
    assert found._repr_html_().startswith("<div") and "<code>gradwhy explain argmax</code>" in found._repr_html_()


def test_the_exception_that_is_handled_is_meant_where_none_is_given() -> None:
    try:
        raise fails()
    except RuntimeError:
        assert [each.cause for each in gradwhy.explain().findings] == ["argmax"]


def test_there_must_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr(sys, name, raising=False)
    with pytest.raises(ValueError, match="no exception to explain"):
        gradwhy.explain()


def test_one_without_a_traceback_is_known_by_its_text() -> None:
    """Built from a log, or sent by another process: there are no frames, so no line is named."""
    text = "element 0 of tensors does not require grad and does not have a grad_fn"
    found = gradwhy.explain(RuntimeError(text))
    assert not [each for each in found.findings if each.certainty == "proven"]
    assert "on purpose" not in str(found) and "itself failed" not in str(found)


def test_one_that_is_not_about_gradients_says_so() -> None:
    found = gradwhy.explain(KeyError("x"))
    assert not found.findings and "not about gradients" in str(found) and "not about gradients" in found._repr_html_()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.11 has exception groups")
def test_one_inside_a_group_is_found() -> None:
    group = builtins.ExceptionGroup("several", [KeyError("x"), fails()])
    assert [each.cause for each in gradwhy.explain(group).findings] == ["argmax"]


def test_in_a_prompt_it_explains_the_last_exception(program: Write, python: Run) -> None:
    """``python -i train.py``, and then the question."""
    path = program("import torch\nmodel = torch.nn.Linear(3, 1)\nmodel(torch.ones(2, 3)).detach().sum().backward()\n")
    run = python("-i", "-q", path, input="import gradwhy\ngradwhy.explain()\n")
    assert "Traceback" in run.stderr and run.stdout.startswith("likely[detach]")


def test_torch_is_not_imported_for_it(python: Run) -> None:
    run = python(
        "-c", "import sys, gradwhy\nprint(gradwhy.explain(ValueError('x')))\nassert 'torch' not in sys.modules"
    )
    assert run.returncode == 0, run.stderr
