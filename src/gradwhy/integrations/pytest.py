"""The pytest plugin: an autograd failure in a test has its report as a section; tests that train can be audited."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator

import pytest

# Nothing else of ours is imported before torch is: most tests are not about it.

SECTION = "gradwhy"
_HOW = ("auto", "always", "never", "off")
_plan = pytest.StashKey["_Plan"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup(SECTION, "why a gradient has gone")
    group.addoption(
        "--gradwhy", choices=_HOW, default=None,
        help="Watch tests once torch is imported: record what is new (auto), everything (always), or nothing and read what an "
        "exception left (never); off: stay out. Default: the ini option, else auto.",
    )  # fmt: skip
    group.addoption(
        "--gradwhy-audit", action="store_true", default=False,
        help="Account for every parameter of each test that steps an optimizer; the test fails where some do not train.",
    )  # fmt: skip
    parser.addini("gradwhy", "How tests are watched: auto, always, never or off.", default="auto")


def pytest_configure(config: pytest.Config) -> None:
    how = config.getoption("--gradwhy") or str(config.getini("gradwhy")).strip()
    if how not in _HOW:
        raise pytest.UsageError(f"the ini option gradwhy is one of {', '.join(_HOW)}; it is {how!r}")
    config.addinivalue_line(
        "markers", "gradwhy_unaudited: what this test trains is meant as it is (see --gradwhy-audit)"
    )
    audits = bool(config.getoption("--gradwhy-audit"))
    config.stash[_plan] = _Plan("auto" if audits and how in ("never", "off") else how, audits)


def pytest_unconfigure(config: pytest.Config) -> None:
    plan = config.stash.get(_plan, None)
    if plan is not None:
        plan.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.config.stash[_plan].begin()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    plan = item.config.stash[_plan]
    if not plan.audits or "torch" not in sys.modules or item.get_closest_marker("gradwhy_unaudited") is not None:
        return (yield)
    from gradwhy.runtime.audit.inline import Audit

    with Audit() as audit:
        yield
    if any(finding.severity in ("error", "warning") for finding in audit.report.findings) and audit.report.parameters:
        from gradwhy.integrations.telling import text_of

        pytest.fail(text_of(audit.report), pytrace=False)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    plan = item.config.stash[_plan]
    raised = call.excinfo.value if call.excinfo is not None else None
    # What pytest itself raises to end a test is no Exception.
    error = raised if isinstance(raised, Exception) else None
    if error is None or plan.how == "off" or "torch" not in sys.modules:
        return (yield)
    plan.clean(error, call)
    report = yield
    if report.failed:
        said = plan.said(error)
        if said:
            report.sections.append((SECTION, said))
    return report


@pytest.fixture
def gradients_flow() -> Callable[..., None]:
    """``gradwhy.assert_gradients_flow``: ``gradients_flow(model, loss_fn, batch, allow=["backbone.*"])``."""
    __tracebackhide__ = True
    from gradwhy.runtime import arrival

    if not arrival.is_installed("torch"):
        from gradwhy.catalog import render
        from gradwhy.findings import Message

        pytest.fail(render.sentence(Message("words.torch-missing", {"python": sys.executable})), pytrace=False)
    import gradwhy

    return gradwhy.assert_gradients_flow


class _Plan:
    """What was asked for, and the one watch of the whole session; each test begins a new part of it."""

    def __init__(self, how: str, audits: bool) -> None:
        self.how = how
        self.audits = audits
        self._started = False

    def begin(self) -> None:
        """Before each test. Never raises; does nothing before torch is imported."""
        if self.how not in ("auto", "always") or "torch" not in sys.modules:
            return
        try:
            from gradwhy.runtime import embedded

            if not self._started:
                self._started = True
                # Tests of compiled code are about compiled code.
                embedded.start("always" if self.how == "always" else "auto", eager=False)
            embedded.begin_part()
        except Exception:
            return

    def end(self) -> None:
        if self._started:
            from gradwhy.runtime import embedded

            self._started = False
            embedded.stop()

    def clean(self, error: Exception, call: pytest.CallInfo[None]) -> None:
        """Our own frames go before the failure is drawn."""
        try:
            from gradwhy.runtime import unwind

            before = error.__traceback__
            unwind.clean(error)
            if error.__traceback__ is not before:
                call.excinfo = pytest.ExceptionInfo.from_exception(error)
        except Exception:
            return

    def said(self, error: Exception) -> str:
        try:
            from gradwhy.runtime import embedded

            report = embedded.report(error)
            if not (report.findings or report.notes):
                return ""
            from gradwhy.integrations.telling import text_of

            return text_of(report).rstrip("\n")
        except Exception as fault:
            return f"gradwhy: {type(fault).__name__}: {fault}"
