"""Notebooks, executed in a real kernel: what stands under the traceback, by cell and line, and that nothing else changes."""

from __future__ import annotations

import pytest
from notebooks import diagnosis, execute, kinds

LOAD = "%load_ext gradwhy\nimport torch\nfrom torch import nn\ntorch.manual_seed(0)"
MODEL = """
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
"""


class TestFaultsAcrossCells:
    def test_a_cut_in_another_cell(self) -> None:
        *_, loop = execute(
            LOAD,
            MODEL,
            """
            # what the loss is given
            def predict(x):
                out = model(x)
                return out.detach()
            """,
            "loss = nn.functional.mse_loss(predict(x), y)\nloss.backward()",
        )
        assert kinds(loop) == ["error", "display_data"]
        text = diagnosis(loop)
        assert text.startswith("error[detach] `loss` has no gradient path to any parameter cell 3, line 4")
        assert ". cell 3, predict() 3 | out = model(x)" in text and ". cell 4 1 | loss =" in text
        html = loop[-1]["data"]["text/html"]
        assert "cell 3, line 4" in html and "<script" not in html

    def test_a_second_backward_across_cells(self) -> None:
        *_, again = execute(LOAD, MODEL, "loss = model(x).pow(2).mean()", "loss.backward()", "loss.backward()")
        text = diagnosis(again)
        assert text.startswith("error[freed-graph-reused] `loss` belongs to a graph")
        assert ". cell 3 1 | loss = model(x).pow(2).mean()" in text
        assert ". cell 4 1 | loss.backward() this backward frees" in text, "two cells with one text are two cells"
        assert ". cell 5 1 | loss.backward() surfaces here" in text

    def test_a_cell_that_is_executed_again(self) -> None:
        """The hidden state that the first run of the loop has left leads the second into the old graph."""
        loop = """
        for step in range(1):
            out, hidden = cell(x[None], hidden)
            out.sum().backward()
        """
        *_, first, again = execute(LOAD, MODEL, "cell = nn.GRU(3, 4)\nhidden = torch.zeros(1, 8, 4)", loop, loop)
        assert not first and diagnosis(again).startswith("error[hidden-state-carried]")
        assert "cell 5, line 2" in diagnosis(again)

    def test_a_model_made_anew_and_a_stale_optimizer(self) -> None:
        *_, audited = execute(
            LOAD,
            MODEL,
            "model = nn.Linear(3, 1)",
            """
            %%gradwhy audit
            for step in range(3):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
            """,
        )
        text = diagnosis(audited)
        assert "[stale-optimizer]" in text and "cell 2, line 2" in text and "in no optimizer" in text

    def test_a_write_in_place(self) -> None:
        *_, loop = execute(
            LOAD,
            MODEL,
            "def scaled(h):\n    h *= 2\n    return h",
            "h = model(x).exp()\nout = scaled(h)",
            "out.sum().backward()",
        )
        assert diagnosis(loop).startswith("error[inplace-op]") and "cell 3, line 2" in diagnosis(loop)

    def test_parameters_frozen_in_another_cell(self) -> None:
        *_, loop = execute(
            LOAD, MODEL, "for p in model.parameters():\n    p.requires_grad = False", "model(x).sum().backward()"
        )
        assert diagnosis(loop).startswith("error[frozen-all]") and "cell 3, line 2" in diagnosis(loop)

    def test_gradients_switched_off_in_another_cell_and_never_on_again(self) -> None:
        *_, loop = execute(
            LOAD, MODEL, "torch.set_grad_enabled(False)\nprint(model(x).mean() > 100)", "model(x).sum().backward()"
        )
        assert diagnosis(loop).startswith("error[grad-mode-left-off]") and "cell 3, line 1" in diagnosis(loop)

    def test_a_fault_that_raises_nothing(self) -> None:
        *_, loop, healthy = execute(
            LOAD,
            MODEL,
            "optimizer.zero_grad()\nloss = torch.tensor(model(x).sum().item(), requires_grad=True)\nloss.backward()",
            "optimizer.zero_grad()\nmodel(x).sum().backward()",
        )
        assert kinds(loop) == ["display_data"] and "cell 3, line 2" in diagnosis(loop)
        assert not healthy, "it is told once"


class TestHealthyNotebooks:
    CELLS = (
        "import torch\nfrom torch import nn\nimport warnings\ntorch.manual_seed(0)",
        MODEL,
        """
        for step in range(3):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        loss
        """,
        "with torch.no_grad():\n    print(model(x).mean())",
        "model(x).mean().item()",
        "warnings.warn('mine')\nmodel.weight.grad.norm()",
        """
        import asyncio
        async def later():
            await asyncio.sleep(0)
            return model(x).sum()
        (await later()).backward()
        model.bias.grad
        """,
        "1/0",
        "torch.ones(3) @ torch.ones(4)",
        "raise KeyboardInterrupt",
        "syntax error",
        "%%time\nz = model(x)\nz.sum().backward()",
        "%%capture held\nprint(model(x).shape)",
        "held.stdout",
        "for value in (n for n in model(x)):\n    value.backward(retain_graph=True)",
    )

    def test_the_outputs_are_what_they_are_without(self) -> None:
        plain = execute("pass", *self.CELLS)
        watched = execute("%load_ext gradwhy", *self.CELLS)
        for cell, (before, after) in zip(("load", *self.CELLS), zip(plain, watched)):
            assert _comparable(after) == _comparable(before), cell


def _comparable(outputs: list[dict[str, object]]) -> list[object]:
    import re

    def clean(value: object) -> object:
        text = re.sub(r"ipykernel_\d+|\d+(\.\d+)? ([munμ]?s)\b|0x[0-9a-f]+|grad_fn=<\w+>", "N", str(value))
        return re.sub(r"\s+", " ", text)

    return [
        {
            key: clean(value)
            for key, value in output.items()
            if key in ("output_type", "name", "text", "ename", "evalue", "traceback", "data")
        }
        for output in outputs
    ]


class TestTheMagic:
    def test_it_explains_what_nobody_watched(self) -> None:
        *_, explained = execute(
            "import torch\nfrom torch import nn",
            MODEL,
            "def predict(x):\n    return model(x).argmax(1).float()",
            "predict(x).mean().backward()",
            "%load_ext gradwhy",
            "%gradwhy",
        )
        text = diagnosis(explained)
        assert text.startswith("likely[argmax]") and "cell 3, line 2" in text and "return model(x).argmax(1)" in text

    def test_it_says_again_what_was_said(self) -> None:
        *_, failed, again = execute(
            LOAD, MODEL, "with torch.no_grad():\n    out = model(x)\nout.sum().backward()", "%gradwhy"
        )
        assert diagnosis(failed) and diagnosis(again) == diagnosis(failed)

    def test_where_there_is_nothing_to_explain_it_says_so(self) -> None:
        outputs = execute("%load_ext gradwhy", "%gradwhy", "1/0", "%gradwhy", "%gradwhy what")
        said = [" ".join(output.get("text", "") for output in each) for each in outputs]
        assert (
            "no exception was raised so far" in said[1] and "not about gradients" in said[3] and "UsageError" in said[4]
        )

    def test_explain_and_watch_know_the_cells_without_the_extension(self) -> None:
        *_, explained, block = execute(
            "import torch, gradwhy\nfrom torch import nn",
            MODEL,
            "try:\n    model(x).detach().sum().backward()\nexcept RuntimeError as error:\n    print(gradwhy.explain(error))",
            "with gradwhy.watch():\n    model(x).detach().sum().backward()",
        )
        assert "likely[detach]" in explained[0]["text"] and "cell 3, line 2" in explained[0]["text"]
        assert "error[detach]" in block[0]["text"] and "cell 4, line 2" in block[0]["text"]


class TestOtherWays:
    def test_a_cell_under_time(self) -> None:
        *_, timed = execute(LOAD, MODEL, "%%time\n# slow\nout = model(x).detach()\nout.sum().backward()")
        assert kinds(timed) == ["stream", "error", "display_data"] and "cell 3, line 3" in diagnosis(timed)

    def test_what_was_told_in_the_cell_is_not_told_under_it(self) -> None:
        *_, cell = execute(LOAD, MODEL, "import gradwhy\nwith gradwhy.watch():\n    model(x).detach().sum().backward()")
        assert [kind for kind in kinds(cell) if kind != "stream"] == ["error"] and "cell 3, line 3" in cell[0]["text"]

    def test_install_loads_it_and_unload_takes_it_away(self) -> None:
        *_, failed, _, after, stack = execute(
            "import gradwhy\ngradwhy.install()\nimport torch\nfrom torch import nn",
            MODEL,
            "model(x).detach().sum().backward()",
            "gradwhy.uninstall()\n%unload_ext gradwhy",
            "model(x).detach().sum().backward()",
            "torch.overrides._get_current_function_mode_stack()",
        )
        assert diagnosis(failed) and kinds(after) == ["error"] and stack[0]["data"]["text/plain"] == "[]"

    def test_rich_and_the_debugger_see_no_frames_of_ours(self) -> None:
        *_, failed, frames = execute(
            LOAD,
            MODEL,
            "nn.functional.mse_loss(model(x), 'y')",
            "import sys, traceback\n[f.filename.rpartition('/')[2] for f in traceback.extract_tb(sys.last_traceback)]",
        )
        assert "gradwhy" not in "".join(failed[0]["traceback"]) and "recorder.py" not in str(frames)

    def test_a_fault_of_ours_is_a_note(self) -> None:
        broken = (
            "import gradwhy.runtime.diagnose as d\ndef crash(*a): raise LookupError('on purpose')\nd.diagnose = crash"
        )
        *_, failed, healthy = execute(LOAD, MODEL, broken, "model(x).detach().sum().backward()", "print('well')")
        assert kinds(failed) == ["error", "display_data"] and "LookupError: on purpose" in diagnosis(failed)
        assert "your program and its results are untouched" in diagnosis(failed)
        assert kinds(healthy)[0] == "stream"

    def test_no_tensor_is_kept_after_a_cell(self) -> None:
        *_, alive = execute(
            LOAD,
            MODEL,
            """
            import weakref, gc
            seen = []
            def step():
                h = model(x)
                seen.append(weakref.ref(h))
                h.detach().sum().backward()
            """,
            "step()",
            # What IPython itself keeps of the last exception.
            """
            import sys
            sys.last_traceback = sys.last_value = sys.last_exc = None
            get_ipython().last_execution_result = get_ipython().InteractiveTB.tb = None
            gc.collect()
            [each() is None for each in seen]
            """,
        )
        assert alive[-1]["data"]["text/plain"] == "[True]"


@pytest.mark.parametrize("language", ["zh"])
def test_the_report_is_in_the_language_of_the_locale(language: str) -> None:
    *_, failed = execute(
        "import os\nos.environ['LANG'] = 'zh_CN.UTF-8'", LOAD, MODEL, "model(x).detach().sum().backward()"
    )
    assert "单元格 4 第 1 行" in diagnosis(failed)
