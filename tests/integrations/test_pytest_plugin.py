"""The plugin, in pytest runs of its own: sections, the audit, the fixture, and nothing at all without torch."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import textwrap
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]

TRAINS = """
import torch

def train(detach):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        out = model(torch.ones(4, 3))
        if detach:
            out = out.detach()
        out.pow(2).mean().backward()
        optimizer.step()
"""


def run(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    """In a process of its own: a watch belongs to a process."""
    pytester.makepyfile(textwrap.dedent(text))
    # By its module, whether or not it is installed; installed, it would be there twice.
    loaded = ("-p", "no:gradwhy", "-p", "gradwhy.integrations.pytest", "-p", "no:cacheprovider")
    return pytester.runpytest_subprocess(*loaded, *options)


def section(result: pytest.RunResult) -> str:
    _, _, found = result.stdout.str().partition("- gradwhy -")
    return " ".join(found.split("=== short test summary")[0].lstrip("-").split())


def test_a_failure_of_autograd_has_its_report_as_a_section(pytester: pytest.Pytester) -> None:
    result = run(pytester, f"{TRAINS}\ndef test_training():\n    train(True)\n")
    result.assert_outcomes(failed=1)
    said = section(result)
    assert said.startswith("error[detach]") and ":10 " in said and "10 | out = out.detach()" in said
    assert "recorder.py" not in result.stdout.str() and "handle_torch_function" not in result.stdout.str()


def test_other_failures_and_passes_are_shown_as_without(pytester: pytest.Pytester) -> None:
    tests = f"""{TRAINS}
import pytest
def test_fine():
    train(False)
def test_caught():
    with pytest.raises(RuntimeError, match="element 0"):
        train(True)
def test_assertion():
    assert torch.ones(2).sum() == 3
def test_shapes():
    torch.ones(3) @ torch.ones(4)
@pytest.mark.xfail
def test_known():
    train(True)
def test_stopped():
    pytest.fail("on purpose")
@pytest.fixture
def broken():
    raise KeyError("x")
def test_setup(broken):
    pass
"""
    watched = run(pytester, tests)
    plain = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:gradwhy")
    for result in (watched, plain):
        result.assert_outcomes(passed=2, failed=3, errors=1, xfailed=1)
    assert "gradwhy" not in watched.stdout.str().partition("FAILURES")[2]

    def failures(result: pytest.RunResult) -> list[str]:
        lines = [line for line in result.outlines if not line.startswith(("platform", "plugins", "rootdir", "=="))]
        return [re.sub(r"0x[0-9a-f]+", "0x", line) for line in lines]

    assert failures(watched) == failures(plain)


@pytest.mark.parametrize("how", ["never", "off"])
def test_it_can_be_told_not_to_watch(pytester: pytest.Pytester, how: str) -> None:
    text = f"""{TRAINS}
def test_training():
    assert not torch.overrides._get_current_function_mode_stack()
    train(True)
"""
    result = run(pytester, text, f"--gradwhy={how}")
    said = section(result)
    assert said.startswith("likely[detach]") if how == "never" else not said
    pytester.makeini(f"[pytest]\ngradwhy = {how}\n")
    assert section(run(pytester, text)) == said
    pytester.makeini("[pytest]\ngradwhy = sometimes\n")
    refused = run(pytester, text)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR and "it is 'sometimes'" in refused.stderr.str()


def test_nothing_of_ours_is_imported_where_torch_is_not(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import sys
        def test_first():
            ours = {name for name in sys.modules if name.startswith("gradwhy")}
            assert ours == {"gradwhy", "gradwhy.version", "gradwhy.integrations", "gradwhy.integrations.pytest"}
            assert not {"torch", "numpy", "rich", "click"} & set(sys.modules)
        def test_second():
            assert 1 == 2
        def test_third():
            assert not any(name.startswith("gradwhy.runtime") for name in sys.modules)
            assert not [each for each in sys.meta_path if type(each).__module__.startswith("gradwhy")]
        """,
    )
    result.assert_outcomes(passed=2, failed=1)


def test_what_one_test_did_is_not_told_of_another(pytester: pytest.Pytester) -> None:
    """The first passes and has a loss that leads nowhere; the second fails for a reason of its own."""
    result = run(
        pytester,
        f"""{TRAINS}
def test_first():
    loss = torch.tensor(torch.nn.Linear(3, 1)(torch.ones(3)).item(), requires_grad=True)
    loss.backward()
def test_second():
    assert False
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    assert not section(result)


def test_compiled_code_stays_compiled(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
        import torch
        calls = []
        def backend(module, inputs):
            calls.append(1)
            return module.forward
        def test_compiled():
            double = torch.compile(lambda x: x * 2, backend=backend)
            x = torch.ones(3, requires_grad=True)
            double(x).sum().backward()
            assert calls and x.grad.tolist() == [2, 2, 2]
        """,
    )
    result.assert_outcomes(passed=1)


def test_with_xdist_the_section_comes_home(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    result = run(
        pytester, f"{TRAINS}\ndef test_one():\n    train(True)\ndef test_two():\n    train(False)\n", "-n", "2"
    )
    result.assert_outcomes(passed=1, failed=1)
    assert section(result).startswith("error[detach]")


def test_installed_it_is_there_by_itself() -> None:
    """Where the project is not installed but only on the path, what pyproject.toml says of it must hold."""
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert declared["project"]["entry-points"]["pytest11"] == {"gradwhy": "gradwhy.integrations.pytest"}
    installed = [each for each in importlib.metadata.entry_points(group="pytest11") if each.name == "gradwhy"]
    assert all(each.load().__name__ == "gradwhy.integrations.pytest" for each in installed)


class TestTheAudit:
    STALE = """
import torch, pytest

def train():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1] = torch.nn.Linear(3, 1)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()
"""

    def test_a_test_that_trains_with_a_fault_fails(self, pytester: pytest.Pytester) -> None:
        tests = f"""{self.STALE}
def test_training():
    train()
@pytest.mark.gradwhy_unaudited
def test_meant():
    train()
def test_other():
    pass
"""
        result = run(pytester, tests, "--gradwhy-audit", "--strict-markers")
        result.assert_outcomes(passed=2, failed=1)
        text = " ".join(result.stdout.str().split())
        assert "[stale-optimizer]" in text and "optimizer = torch.optim.SGD(" in text and "in no optimizer" in text
        run(pytester, tests).assert_outcomes(passed=3)

    def test_a_test_that_trains_well_passes(self, pytester: pytest.Pytester) -> None:
        run(pytester, f"{TRAINS}\ndef test_fine():\n    train(False)\n", "--gradwhy-audit").assert_outcomes(passed=1)

    def test_a_test_that_fails_by_itself_keeps_its_failure(self, pytester: pytest.Pytester) -> None:
        result = run(pytester, f"{TRAINS}\ndef test_bad():\n    train(True)\n", "--gradwhy-audit")
        result.assert_outcomes(failed=1)
        assert "RuntimeError: element 0" in result.stdout.str() and section(result).startswith("error[detach]")


class TestTheFixture:
    def test_it_passes_and_fails_as_the_assertion_does(self, pytester: pytest.Pytester) -> None:
        result = run(
            pytester,
            """
            import torch
            model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
            def loss(model, batch):
                return model[1](model[0](batch).detach()).mean()
            def test_all(gradients_flow):
                gradients_flow(model, lambda model, batch: model(batch).mean(), torch.ones(2, 3))
            def test_some(gradients_flow):
                gradients_flow(model, loss, torch.ones(2, 3), allow=["0.*"])
            def test_cut(gradients_flow):
                gradients_flow(model, loss, torch.ones(2, 3))
            """,
        )
        result.assert_outcomes(passed=2, failed=1)
        assert "0.weight" in result.stdout.str() and "[detach]" in result.stdout.str()


def test_a_fault_of_ours_fails_no_test(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        f"""{TRAINS}
import gradwhy.runtime.diagnose, gradwhy.runtime.embedded
def crash(*given):
    raise LookupError("on purpose")
def test_first():
    gradwhy.runtime.diagnose.diagnose = crash
    train(True)
def test_second():
    gradwhy.runtime.embedded.report = crash
    train(True)
def test_third():
    gradwhy.runtime.embedded.begin_part = crash
def test_fourth():
    train(False)
""",
    )
    result.assert_outcomes(passed=2, failed=2)
    assert " ".join(result.stdout.str().split()).count("LookupError: on purpose") == 2
    assert "INTERNALERROR" not in result.stdout.str()


def test_no_tensor_is_kept_after_a_test(pytester: pytest.Pytester) -> None:
    run(
        pytester,
        f"""{TRAINS}
import gc, sys, weakref
seen = []
def test_first():
    model = torch.nn.Linear(3, 1)
    seen.append(weakref.ref(model.weight))
    try:
        model(torch.ones(3)).detach().sum().backward()
    except RuntimeError as error:
        import gradwhy
        assert gradwhy.explain(error).findings
def test_second():
    gc.collect()
    assert seen[0]() is None
""",
    ).assert_outcomes(passed=2)
