"""Copied beside a program as ``faults_call.py``: traces a training step with TorchLens and writes what its audits say.

The step is put into a module that returns the loss, so that the loss is traced as well and ``log_backward`` can be used.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ORDER = json.loads(Path("faults_call.json").read_text("utf-8"))
reached = 0


def here(program: dict[str, Any], local: dict[str, Any]) -> None:
    global reached
    reached += 1
    if reached == ORDER["times"]:
        exec(compile(ORDER["code"], "the call", "exec"), {**program, **local, "check": check, "twin": ORDER["twin"]})


def lines_of(context: Any) -> list[int]:
    """The lines of the program among an operation's calls, innermost first, without the line of the call itself."""
    found: list[int] = []
    for at in context or ():
        name = Path(str(at.file)).name
        if name == "faults_call.py":
            break
        if name == "train.py":
            found.append(int(at.line_number))
    return found


def check(
    model: Any,
    inputs: Any,
    targets: Any = None,
    *,
    loss_fn: Any = None,
    forward_fn: Any = None,
    **_: Any,
) -> None:
    import torch
    import torchlens

    said: list[tuple[int | None, str, bool]] = []
    shown: set[int] = set()

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *arguments: Any) -> Any:
            given = arguments[0] if len(arguments) == 1 and not isinstance(inputs, tuple) else arguments
            if isinstance(inputs, dict):
                outputs = self.model(**inputs)
            elif forward_fn is not None:
                outputs = forward_fn(self.model, given, targets)
            else:
                outputs = self.model(*arguments)
            if loss_fn is None:
                return outputs
            return loss_fn(outputs) if targets is None else loss_fn(outputs, targets)

    given = list(inputs) if isinstance(inputs, tuple) else [] if isinstance(inputs, dict) else [inputs]
    step = Step()
    step.train()
    trace = None
    try:
        trace = torchlens.trace(step, given, capture=torchlens.options.CaptureOptions(save_grads=True))
    except Exception as error:
        said.append((None, f"trace: {type(error).__name__}: {error}", True))
    if trace is not None:
        by_name = {}
        for op in trace.ops:
            lines = lines_of(op.code_context)
            by_name[f"{op.layer_label}"] = lines[0] if lines else None
            shown.update(lines)
        # Lists of modules, and a model whose methods are called instead, never run and hold nothing themselves.
        holders = {name for name, module in step.named_modules() if module._parameters}
        unused = [str(name) for name in trace.uncalled_modules if str(name) in holders]
        if unused:
            said.append((None, f"never ran: {', '.join(unused)}", True))
        if loss_fn is not None:
            try:
                trace.log_backward(trace[trace.output_layers[0]].out)
                rows, _attributes = torchlens.debug.gradient_flow_audit_rows(trace)
                flagged = [row for row in rows if row["dead"] or row["vanishing"] or row["exploding"]]
                flagged.sort(key=lambda row: not row.get("is_frontier"))
                for row in flagged:
                    name = str(row["op"]).partition(":")[0]
                    kind = next(word for word in ("dead", "vanishing", "exploding") if row[word])
                    said.append((by_name.get(name), f"{kind} gradient at {row['op']}", True))
            except Exception as error:
                said.append((None, f"log_backward: {type(error).__name__}: {error}", True))
        try:
            said += [(None, str(finding), True) for finding in torchlens.debug.audit_trace(trace).findings]
        except Exception as error:
            said.append((None, f"audit: {type(error).__name__}: {error}", False))
    Path("faults_answer.json").write_text(json.dumps({"said": said, "shown": sorted(shown)}), "utf-8")
    os._exit(0)
