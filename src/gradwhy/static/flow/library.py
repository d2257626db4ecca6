"""Calls of imported functions: torch's by the table, those of Python and numpy, and what is out of sight."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradwhy.static.flow import builtin, declared, elsewhere, flags, gradients, layers, optimizers, scaling, tensors
from gradwhy.static.flow.cloning import clone
from gradwhy.static.flow.histories import NO, PLAIN, UNKNOWN_FLOW, Flow, GradMode, Value, joined_grad
from gradwhy.static.flow.imports import filed
from gradwhy.static.flow.loading import Loader
from gradwhy.static.flow.ops import by_row, computed, cut, leaf_or_plain, note_loss, note_reduced, sides
from gradwhy.static.flow.values import (
    Const,
    Data,
    Distribution,
    Layer,
    Mapping,
    Partial,
    Scalar,
    Seq,
    Tensor,
    Unknown,
    flows,
    plain,
)

if TYPE_CHECKING:
    from gradwhy.static.flow.run import Run

Args = list[Value]
Keywords = dict[str, Value]

# Packages that read what they are given and don't touch flags.
_HARMLESS = frozenset({
    "builtins", "math", "random", "time", "os", "sys", "json", "logging", "pathlib", "matplotlib", "PIL", "argparse", "typing",
    "collections", "dataclasses", "itertools", "functools", "re", "datetime", "warnings", "pandas", "sklearn", "scipy", "wandb",
    "tensorboard", "torchsummary", "torchinfo", "seaborn", "yaml", "csv", "glob", "shutil", "pickle", "string", "contextlib",
    "operator", "enum", "abc", "io", "tempfile", "gc", "psutil", "cv2", "skimage", "torchmetrics", "thop", "fvcore", "pprint",
})  # fmt: skip
_ZEROS = frozenset({"torch.zeros", "torch.zeros_like"})
_MODES = {
    "torch.no_grad": (False, "no_grad-context"),
    "torch.inference_mode": (False, "inference_mode-context"),
    "torch.enable_grad": (True, ""),
}


def call(r: Run, path: str, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    """``path(...)`` for an imported name."""
    path = filed(path)
    root, _, name = path.partition(".")
    if root == "torch":
        return _torch(r, path, args, keywords, node)
    if root == "builtins":
        return builtin.call(r, name, args, keywords, node)
    if root == "numpy":
        return elsewhere.numpy(r, path, args, keywords, node)
    if root == "math":
        return elsewhere.math(r, args, node)
    special = _OTHERS.get(path)
    if special is not None:
        return special(r, args, keywords, node)
    known = declared.call(r, path, args, keywords, node)
    if known is not None:
        return known
    if root == "itertools":
        return elsewhere.itertools(r, name, args, node)
    if root == "tqdm" or name.endswith((".tqdm", ".trange")):
        if name.endswith("trange"):
            return Seq((), Scalar())
        return args[0] if args else keywords.get("iterable", Unknown(node))
    if root in ("torchvision", "torchaudio", "datasets") and (
        "transforms" in name or "datasets" in name or "load" in name
    ):
        return Unknown(node)
    if root not in _HARMLESS:
        for value in (*args, *keywords.values()):
            layers.escape(r, value)
    return declared.made_by(r, path, node)


def _torch(r: Run, path: str, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    special = _TORCH.get(path)
    if special is not None:
        return special(r, args, keywords, node)
    if path in _MODES or path == "torch.set_grad_enabled":
        inner = plain(args[0]) if args else None
        if path in _MODES and inner is not None and not isinstance(inner, (Const, Scalar)):
            mode = grad_mode(r, path, [], node)
            return r.call(mode, args, {}, node)
        return grad_mode(r, path, args or list(keywords.values()), node)
    if path.startswith("torch.optim."):
        name = path.rpartition(".")[2]
        if path.count(".") == 2 and name[:1].isupper():
            return optimizers.make(r, path, args, keywords, node)
        if name == "AveragedModel" and args:
            return clone(plain(args[0]))
        return scaling.scheduler(path, args, keywords, node)
    if path.startswith("torch.nn.init."):
        if args and isinstance(filled := plain(args[0]), Tensor):
            zero = path.endswith(".zeros_") or (path.endswith(".constant_") and flags.is_nought(args[1:], keywords))
            flags.set_zero(r, filled, zero, node)
        return args[0] if args else Unknown(node)
    if path.startswith("torch.nn.utils."):
        return _nn_utils(r, path, args, node)
    if path.startswith("torch.nn.") and path.rpartition(".")[2][:1].isupper():
        made = layers.make(r, path, args, keywords, node)
        if made is not None:
            return made
        for value in (*args, *keywords.values()):
            layers.escape(r, value)
        return Unknown(node)
    if path.startswith("torch.distributions."):
        given = tuple(flow for value in (*args, *keywords.values()) for flow in flows(value))
        if path.rpartition(".")[2][:1].isupper():
            return Distribution(path, computed(r, node, given).flow)
        return computed(r, node, given)
    if path.startswith("torch.Tensor.") and args and isinstance(first := plain(args[0]), Tensor):
        return tensors.call(r, first, path.rpartition(".")[2], args[1:], keywords, node)
    return function(r, path, args, keywords, node)


def function(r: Run, path: str, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    """A function of torch by the table; one that is in no row gives an unknown value."""
    given, side = sides(r, path, args, keywords)
    name = path.rpartition(".")[2]
    if name in ("cat", "stack", "hstack", "vstack", "concat") and not given and not side:
        # An empty list raises: it has been filled out of sight.
        return Unknown(node)
    row = r.table.op(path)
    if row is not None and path in r.table.names_of(row):
        result = by_row(r, row, path, args, keywords, node, side)
        if result is not None:
            if path in _ZEROS and isinstance(result, Tensor):
                flags.set_zero(r, result, True, node)
            return result
    elif not r.table.keeps(path):
        if name.endswith("_") and args and isinstance(first := plain(args[0]), Tensor):
            return tensors.call(r, first, name, args[1:], keywords, node)
        return Unknown(node)
    if name in tensors.PARTS:
        return Seq((), computed(r, node, given, side, name=path), "tuple")
    inplace = keywords.get("inplace")
    result = computed(r, node, given, side, name=path)
    note_loss(r, path, args, keywords, result, node)
    note_reduced(r, name, len(args) + len(keywords), result, node)
    if isinstance(inplace, Const) and inplace.value and args and isinstance(first := plain(args[0]), Tensor):
        r.tell(
            "written",
            node,
            tensors=(first,),
            flow=first.flow,
            facts={"recording": bool(r.mode.on), "serial": result.flow.serial},
        )
    return result


def grad_mode(r: Run, path: str, args: Args, node: ast.AST) -> GradMode:
    """``no_grad()``, ``inference_mode(...)``, ``enable_grad()``, ``set_grad_enabled(...)``; the last one switches at once."""
    given = plain(args[0]) if args else None
    known = bool(given.value) if isinstance(given, Const) else None
    if path == "torch.set_grad_enabled":
        mode = GradMode(known, "grad-mode-left-off", node, r.frame)
        mode.before = r.mode
        r.write(r.state, "mode", mode)
        r.tell("switched", node, facts={"on": known})
        return _as_block(mode)
    on, cause = _MODES[path]
    if path == "torch.inference_mode" and given is not None:
        return GradMode(None if known is None else not known, cause, node, r.frame)
    return GradMode(on, cause, node, r.frame)


def _as_block(mode: GradMode) -> GradMode:
    """The context that a call of ``set_grad_enabled`` gives: used in a ``with``, it is a block like no_grad's."""
    context = GradMode(mode.on, "no_grad-context", mode.at, mode.frame)
    context.before = mode.before
    return context


def _parameter(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    data = args[0] if args else keywords.get("data", Unknown())
    given = [flow for flow in flows(data) if flow is not PLAIN]
    flag = args[1] if len(args) > 1 else keywords.get("requires_grad")
    history = (cut(r, node, given, "tensor-rebuild"),) if joined_grad(given) != NO or _has_history(given) else ()
    made = leaf_or_plain(r, node, history, flag, parameter=True, cause="tensor-rebuild" if history else "")
    if isinstance(tensor := plain(data), Tensor) and tensor.f.get("#zero") is True:
        flags.set_zero(r, made, True, node)
    return made


def _has_history(given: list[Flow]) -> bool:
    return any(
        flow.kind in ("cut", "off") or _has_history(list(flow.inputs)) for flow in given if flow.kind != "unknown"
    )


def _variable(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    value = plain(args[0]) if args else Unknown()
    flag = args[1] if len(args) > 1 else keywords.get("requires_grad")
    if isinstance(flag, Const) and flag.value:
        given = [flow for flow in flows(value) if flow is not PLAIN]
        history = (cut(r, node, given, "tensor-rebuild"),) if _has_history(given) or joined_grad(given) else ()
        return leaf_or_plain(r, node, history, flag, cause="requires-grad-on-loss" if history else "")
    if isinstance(value, Tensor):
        return Tensor(cut(r, node, [value.flow], "tensor-rebuild"), made=node) if value.flow.grad else value
    return value


def _from_pretrained(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    """``nn.Embedding.from_pretrained(vectors)`` is frozen unless ``freeze=False`` says otherwise."""
    layer = Layer("torch.nn.Embedding", node)
    flag = args[1] if len(args) > 1 else keywords.get("freeze")
    free = Const(not flag.value) if isinstance(flag, Const) else Const(False) if flag is None else flag
    layer.f["weight"] = leaf_or_plain(r, node, (), free, parameter=True)
    return layer


def _checkpoint(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    """``checkpoint(f, *inputs)``: the reentrant kind has a path only from its inputs."""
    if not args:
        return Unknown(node)
    reentrant = keywords.get("use_reentrant")
    rest = {k: v for k, v in keywords.items() if k not in ("use_reentrant", "preserve_rng_state", "context_fn")}
    known = bool(reentrant.value) if isinstance(reentrant, Const) else None
    given = [flow for value in args[1:] for flow in flows(value)]
    result = r.call(args[0], args[1:], rest, node)
    if known is False:
        return result
    r.tell("checkpoint", node, facts={"reentrant": known, "inputs": tuple(given), "result": result})
    if known and joined_grad(given) == NO and isinstance(inner := plain(result), Tensor):
        return Tensor(cut(r, node, [inner.flow], "checkpoint-frozen-input"), made=node)
    return result


def _sequential_checkpoint(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    if len(args) < 3:
        return Unknown(node)
    functions = plain(args[0])
    layer = Layer("torch.nn.Sequential", node)
    if isinstance(functions, Seq):
        layers.fill(r, layer.f, layer.path, [functions])
        functions = layer
    return _checkpoint(r, [functions, args[2]], keywords, node)


def _nn_utils(r: Run, path: str, args: Args, node: ast.AST) -> Value:
    name = path.rpartition(".")[2]
    if name.startswith("clip_grad"):
        given = optimizers.tensors_in(args[0]) if args else [None]
        r.tell("clip", node, value=args[0] if args else None, tensors=tuple(t for t in given if t is not None),
               facts={"complete": None not in given})  # fmt: skip
        return Tensor(PLAIN, made=node)
    if name in ("parameters_to_vector", "pad_sequence", "pack_padded_sequence", "pack_sequence"):
        return computed(r, node, [flow for value in args for flow in flows(value)])
    if name == "pad_packed_sequence":
        return Seq((computed(r, node, list(flows(args[0])) if args else []), Scalar()), kind="tuple")
    if name in ("spectral_norm", "weight_norm") and args:
        return args[0]
    for value in args:
        layers.escape(r, value)
    return Unknown(node)


def _first(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return args[0] if args else Unknown(node)


def _enabled(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    on = r.mode.on
    return Scalar() if on is None else Const(on)


def _deepcopy(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return clone(plain(args[0])) if args else Unknown(node)


def _partial(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return Partial(args[0], args[1:], keywords) if args else Unknown(node)


def _new_list(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return builtin.call(r, "list", args[:1], {}, node)


def _new_dict(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return builtin.call(r, "dict", args, keywords, node)


def _default_dict(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return Mapping({}, Unknown())


def _as_tensor(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    """``torch.as_tensor(x)`` hands a tensor through, and makes one of anything else."""
    value = plain(args[0]) if args else Unknown()
    if isinstance(value, (Tensor, Unknown)):
        return (
            value if len(args) == 1 and not keywords else computed(r, node, list(flows(value)), name="torch.Tensor.to")
        )
    return function(r, "torch.as_tensor", args, keywords, node)


def _tensor_dataset(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return Seq(
        (),
        Seq(
            [Tensor(Flow("plain", NO, node), made=node) if isinstance(plain(a), Tensor) else Data() for a in args],
            kind="tuple",
        ),
        "dataset",
    )


def _loader(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return Loader(args[0] if args else keywords.get("dataset", Unknown()), node)


def _split_dataset(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return Seq((), args[0] if args else Unknown())


def _backward(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    return gradients.autograd_backward(r, args, keywords, node)


def _functional_call(r: Run, args: Args, keywords: Keywords, node: ast.AST) -> Value:
    """``functional_call(module, parameters, inputs)``: the given tensors stand in for the module's own."""
    if len(args) < 3:
        return Unknown(node)
    own, complete = layers.parameters(r, args[0])
    given = plain(args[1])
    stand_ins = list(flows(given))
    if not complete or not isinstance(given, Mapping) or (given.rest is not None and len(given.items) < len(own)):
        stand_ins.append(UNKNOWN_FLOW)
    elif len(given.items) < len(own):
        stand_ins += [tensor.flow for name, tensor in own if name not in given.items]
    return computed(r, node, [*stand_ins, *flows(args[2])])


_TORCH: dict[str, Callable[[Run, Args, Keywords, ast.AST], Value]] = {
    "torch.nn.Parameter": _parameter,
    "torch.autograd.Variable": _variable,
    "torch.as_tensor": _as_tensor,
    "torch.asarray": _as_tensor,
    "torch.autograd.grad": gradients.grad,
    "torch.autograd.backward": _backward,
    "torch.nn.Embedding.from_pretrained": _from_pretrained,
    "torch.autograd.functional.jacobian": gradients.functional,
    "torch.autograd.functional.hessian": gradients.functional,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.utils.checkpoint.checkpoint_sequential": _sequential_checkpoint,
    "torch.compile": _first,
    "torch.jit.script": _first,
    "torch.amp.GradScaler": scaling.scaler,
    "torch.is_grad_enabled": _enabled,
    "torch.utils.data.DataLoader": _loader,
    "torch.utils.data.TensorDataset": _tensor_dataset,
    "torch.utils.data.random_split": _split_dataset,
    "torch.utils.data.Subset": _first,
    "torch.func.functional_call": _functional_call,
    "torch.Size": _new_list,
}
_OTHERS: dict[str, Callable[[Run, Args, Keywords, ast.AST], Value]] = {
    "copy.deepcopy": _deepcopy,
    "copy.copy": _first,
    "functools.partial": _partial,
    "collections.deque": _new_list,
    "collections.OrderedDict": _new_dict,
    "collections.defaultdict": _default_dict,
}
