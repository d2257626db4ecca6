"""``copy.deepcopy`` of what the interpretation knows."""

from __future__ import annotations

from gradwhy.static.flow.histories import Flow, Value
from gradwhy.static.flow.values import Instance, Layer, Mapping, Optional, Seq, Tensor, Unknown


def clone(value: Value, done: dict[int, Value] | None = None) -> Value:
    """The value with new tensors, modules and containers; leaves stay leaves."""
    done = {} if done is None else done
    if id(value) in done:
        return done[id(value)]
    new: Value
    if isinstance(value, Tensor):
        new = done[id(value)] = Tensor(value.flow, value.parameter, value.name, value.made)
        flow = value.flow
        if flow.owner is not None:
            new.f["flow"] = Flow(
                flow.kind, flow.grad, flow.at, flow.frame, flow.inputs, flow.cause, owner=new, op=flow.op
            )
    elif isinstance(value, (Layer, Instance, Unknown)):
        if isinstance(value, Layer):
            new = Layer(value.path, value.made)
        elif isinstance(value, Instance):
            new = Instance(value.cls, value.made)
        else:
            new = Unknown(value.origin)
        done[id(value)] = new
        new.f.update({k: clone(v, done) if isinstance(v, Value) else v for k, v in value.f.items()})
    elif isinstance(value, Seq):
        new = done[id(value)] = Seq((), None, value.kind, value.fields)
        new.f["items"] = tuple(clone(item, done) for item in value.items)
        new.f["rest"] = clone(value.rest, done) if value.rest is not None else None
    elif isinstance(value, Mapping):
        new = done[id(value)] = Mapping()
        new.f["items"] = {key: clone(item, done) for key, item in value.items.items()}
        new.f["rest"] = clone(value.rest, done) if value.rest is not None else None
    elif isinstance(value, Optional):
        new = Optional(clone(value.value, done))
    else:
        new = value
    return new
