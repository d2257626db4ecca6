"""``%load_ext gradwhy``: from then on cells are watched, and an autograd exception has its report under its traceback."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from typing import Any

from gradwhy.catalog import render
from gradwhy.findings import Message, Report
from gradwhy.integrations.cells import Cell, Cells
from gradwhy.report import delivery, formats
from gradwhy.runtime import embedded, unwind

_TIMED = "<timed exec>"
"""What IPython calls the code of a cell under ``%%time`` (IPython/core/magics/execution.py)."""

_loaded: _Extension | None = None


def running() -> Any:
    """The shell of this process, or None."""
    shells = sys.modules.get("IPython")
    return shells.get_ipython() if shells is not None and hasattr(shells, "get_ipython") else None


def load(shell: Any) -> None:
    """What ``%load_ext gradwhy`` calls. Loading it again changes nothing."""
    global _loaded
    if _loaded is None:
        _loaded = _Extension(shell)
        _loaded.begin()


def unload(shell: Any) -> None:
    """What ``%unload_ext gradwhy`` calls."""
    global _loaded
    if _loaded is not None:
        gone, _loaded = _loaded, None
        gone.end()


class _Extension:
    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.cells = Cells()
        self._undo: list[Callable[[], None]] = []
        self._open: list[Any] = []
        """What IPython says of the cells that are running: a magic may run one inside another."""
        self._shown: BaseException | None = None
        """The last exception that a magic showed by itself, such as ``%%time``."""
        self._unseen: int | None = None
        """id of the last exception from before the watch."""
        self._auditing = False
        self._number = 0
        """The count of the cell that is running."""
        self._explained: tuple[int, Report] | None = None
        """(id of the last exception, its report): what a cell showed, ``%gradwhy`` shows again."""

    # -- in place and out

    def begin(self) -> None:
        shell = self.shell
        self._unseen = id(getattr(sys, "last_value", None))
        know(shell, self.cells)
        self._replace(shell.compile, "get_code_name", self._naming)
        self._replace(shell, "_get_exc_info", self._showing)
        for event, heard in (("pre_run_cell", self._begins), ("post_run_cell", self._ended)):
            shell.events.register(event, heard)
            self._undo.append(lambda event=event, heard=heard: shell.events.unregister(event, heard))  # type: ignore[misc]
        shell.register_magic_function(self.magic, magic_kind="line_cell", magic_name="gradwhy")
        embedded.start()

    def end(self) -> None:
        embedded.stop()
        for kind in ("line", "cell"):
            self.shell.magics_manager.magics[kind].pop("gradwhy", None)
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """On the one object, not on its class: others may have done the same."""
        original = getattr(owner, name)
        mine = make(original)
        before = vars(owner).get(name)
        setattr(owner, name, mine)

        def undo() -> None:
            if vars(owner).get(name) is mine:
                if before is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, before)

        self._undo.append(undo)

    # -- what runs

    def _naming(self, original: Callable[[str, str, int], str]) -> Callable[[str, str, int], str]:
        def get_code_name(raw_code: str, transformed_code: str, number: int) -> str:
            name = original(raw_code, transformed_code, number)
            try:
                name = self._named(name, raw_code, transformed_code, number)
            except Exception as fault:
                self._trouble(fault)
            return name

        return get_code_name

    def _named(self, name: str, raw: str, code: str, number: int) -> str:
        outer = self._open[0] if self._open else None
        identity, typed = getattr(outer, "cell_id", None), getattr(outer, "raw_cell", raw)
        if len(self._open) > 1:
            # A magic runs a part of the cell: it counts as the cell does.
            number, above = self._number, _before(typed, raw)
        else:
            self._number, above = number, _above(typed)
        if not self._is_debugged():
            name = self.cells.distinct(name, code, identity, number)
        self.cells.add(name, Cell(number, code, above, identity), typed)
        if len(self._open) <= 1:
            self._timed(typed, number)
        return name

    def _is_debugged(self) -> bool:
        # A debugger looks for breakpoints by the name.
        debugger = getattr(getattr(self.shell, "kernel", None), "debugger", None)
        return bool(getattr(debugger, "is_started", False))

    def _showing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _get_exc_info(*args: Any, **kwargs: Any) -> Any:
            kind, error, traceback = original(*args, **kwargs)
            try:
                unwind.clean(error)
                sys.last_traceback = traceback = unwind.cleaned(traceback)
                self._shown = error if self._open else None
                if self._explained is not None and self._explained[0] != id(error):
                    self._explained = None
            except Exception as fault:
                self._trouble(fault)
            return kind, error, traceback

        return _get_exc_info

    def _begins(self, info: Any) -> None:
        try:
            self._open.append(info)
            self._shown = None
            if len(self._open) == 1:
                self.cells.forget(_TIMED)
                embedded.refresh()
        except Exception as fault:
            self._trouble(fault)

    def _timed(self, typed: str, number: int) -> None:
        lines = typed.split("\n")
        first = _above(typed)
        if lines[first].split(" ")[0].strip() == "%%time" and len(lines) > first + 1:
            code = self.shell.transform_cell("\n".join(lines[first + 1 :]))
            self.cells.add(_TIMED, Cell(number, code, first + 1), typed)

    def _ended(self, result: Any) -> None:
        info = getattr(result, "info", None)
        known = any(each is info for each in self._open)
        while known and self._open and self._open.pop() is not info:
            pass
        error, self._shown = result.error_in_exec or self._shown, None
        if self._open or self._auditing:
            return
        if isinstance(error, Exception) and embedded.was_told(error):
            return
        try:
            self._unseen = None if error is not None else self._unseen
            self.show(self._report(error if isinstance(error, Exception) else None))
            if error is not None:
                embedded.mark_told(error)
        except Exception as fault:
            self._trouble(fault)

    # -- what is said

    def _report(self, error: BaseException | None) -> Report:
        unseen = error is not None and self._unseen == id(error)
        report = self.cells.report(embedded.unwatched(error) if unseen else embedded.report(error))
        if error is not None:
            self._explained = (id(error), report)
        return report

    def show(self, report: Report) -> None:
        """Under the output of the cell, as text and as HTML; nothing where there is nothing to say."""
        language = render.language_of(None)
        stream = sys.stdout if self._is_terminal() else None
        look = formats.Look(language, delivery.columns(stream), delivery.in_colour(stream))
        text = formats.load("text").write(report, look)
        if not text:
            return
        from IPython.display import display

        data = {"text/plain": text.rstrip("\n")}
        if not self._is_terminal():
            from gradwhy.report import to_html

            data["text/html"] = to_html.fragment(report, look)
        display(data, raw=True)

    def _is_terminal(self) -> bool:
        return not hasattr(self.shell, "kernel")

    def _trouble(self, fault: BaseException) -> None:
        """A fault of ours is a note in the next report."""
        embedded.own_fault(fault)

    # -- the magic

    def magic(self, line: str, cell: str | None = None) -> None:
        """``%gradwhy`` explains the last exception; ``%%gradwhy audit`` audits the training steps of a cell."""
        words = line.split()
        language = render.language_of(None)
        if cell is not None and words == ["audit"]:
            self._audit(cell)
        elif cell is None and not words:
            error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
            if error is None:
                print(render.sentence(Message("words.no-exception"), language))
                return
            known = self._explained
            report = known[1] if known is not None and known[0] == id(error) else self._report(error)
            self.show(report)
            if not (report.findings or report.notes):
                print(render.sentence(Message("words.not-mine", {"operations": 0} | dict(report.examined)), language))
        else:
            from IPython.core.error import UsageError

            raise UsageError("%gradwhy, or %%gradwhy audit at the top of a cell")

    def _audit(self, code: str) -> None:
        # Imported here: it needs torch, which a notebook need not have imported before its first audit.
        import torch

        from gradwhy.runtime.audit.inline import Audit

        optimizers = [each for each in self.shell.user_ns.values() if isinstance(each, torch.optim.Optimizer)]
        self._auditing = True
        try:
            with Audit(*{id(each): each for each in optimizers}.values()) as audit:
                result = self.shell.run_cell(code)
        finally:
            self._auditing = False
        error = result.error_in_exec or result.error_before_exec
        self.show(self.cells.report(audit.report))
        if error is not None:
            embedded.mark_told(error)
        elif not audit.report.parameters:
            print(render.sentence(Message("words.nothing-trained"), render.language_of(None)))


def cells_of(shell: Any) -> Cells:
    """The cells that were executed so far, whether or not the extension is loaded."""
    return _loaded.cells if _loaded is not None else know(shell, Cells())


def know(shell: Any, cells: Cells) -> Cells:
    """Take in the cells that IPython has kept, with the names that it gave them."""
    history = getattr(shell.history_manager, "input_hist_raw", [])
    for name, number in getattr(shell.compile, "_filename_map", {}).items():
        entry = linecache.cache.get(name)
        typed = history[number] if number < len(history) else ""
        if entry is not None and len(entry) > 2:
            cells.add(name, Cell(number, "".join(entry[2]), _above(typed)), typed)
    return cells


def _above(typed: str) -> int:
    """The empty lines that a cell begins with: IPython leaves them out."""
    lines = typed.split("\n")
    return next((number for number, line in enumerate(lines) if line.strip()), 0)


def _before(typed: str, inner: str) -> int:
    """The lines of a cell above the part of it that a magic runs."""
    head, found, _ = typed.partition(inner.rstrip("\n"))
    return head.count("\n") if found and inner.strip() else 0
