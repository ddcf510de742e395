"""Arguments by name. A call that does not fit a function of _garner raises one sentence: which argument, and what it takes. Names of
before 0.2 are accepted with a DeprecationWarning. What arrays and numbers may be: _checks.py."""
from __future__ import annotations

import ast
import difflib
import functools
import inspect
import operator
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from ._checks import told
from .errors import KindError, UsageError

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

# Keywords, attributes and methods by their names of before 0.2, and the names they have now: the first that the function or the class has.
renamed: dict[str, tuple[str, ...]] = {
    "place": ("device",), "device_budget": ("graph_cache", "feature_cache"), "host_budget": ("host_cache", "memory_limit"),
    "peer_budget": ("peer_cache",),
    "in_lists": ("in_edges",), "make_in_lists": ("make_in_edges",), "draw_weights": ("random_weights",), "lists": ("adjacency",), "packed": ("compressed",),
    "vertices": ("num_nodes", "nodes"), "edges": ("num_edges", "edge_types"), "types": ("node_types",), "arcs": ("stored_edges",), "arcs_read": ("edges_read",),
    "all_vertices": ("num_nodes",), "all_edges": ("num_edges",), "source_vertices": ("num_sources",), "target_vertices": ("num_targets",),
    "cached_neighbours": ("cached_neighbors",), "first_neighbours": ("first_neighbors",), "shards": ("devices",),
    "personal": ("personalization",), "batch": ("batch_size",), "ahead": ("prefetch",), "way": ("strategy",), "classes": ("num_classes",),
    "hidden": ("hidden_channels",), "layers": ("num_layers",), "record": ("cuda_graph",), "sums": ("deterministic",), "first": ("init",),
    "spread": ("init_scale",), "alone": ("per_rank",), "wait_seconds": ("timeout",), "draws": ("first_number",),
    "about": ("summary",), "beside": ("for_device",), "keep": ("save_checkpoint", "cache"), "put_lists": ("put_adjacency",), "resume": ("load_checkpoint",), "take_best": ("load_best",),
    "over": ("finished",), "give": ("submit",), "far_rows": ("remote_rows",), "far_bytes": ("remote_bytes",), "of_lists": ("of_arrays",),
    "tell": ("all_gather",), "alike": ("require_same",), "draw": ("sample",), "asks": ("requests",), "take": ("complete",), "window": ("gather_many",),
}
_values: dict[str, Callable[[Any], Any]] = {"sums": lambda said: said == "exact"}
# What the module was called to give before 0.2.
renamed_here = {"VertexType": "NodeType", "Blocks": "SampledSubgraph", "BlockVertices": "SampledNodes", "BlockEdges": "SampledEdges", "JobShard": "ShardRun",
                "draw_negatives": "sample_negatives"}


def caller_level() -> int:
    """The stack level of the line outside this package that led here, as warnings.warn takes it where it is called."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "garner":
        frame, level = frame.f_back, level + 1
    return level


def warn_of(old: str, new: str) -> None:
    warnings.warn(f"{old} is now {new}; the old name is accepted until 0.2", DeprecationWarning, stacklevel=caller_level())


def renew(call: str, names: Iterable[str], given: dict[str, Any]) -> None:
    """Gives the keywords of a call that takes these names the names that they have now."""
    taken = set(names)
    for old in [name for name in given if name in renamed and name not in taken]:
        new = next((name for name in renamed[old] if name in taken), None)
        if new is None:
            continue
        if new in given:
            raise UsageError(f"{call}(): {old}= is the old name of {new}=, and both are set; leave {old} out")
        warn_of(f"{call}(): {old}=", f"{new}=")
        value = given.pop(old)
        given[new] = _values.get(old, lambda same: same)(value)


def takes_old_names(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which takes its keywords by their old names too; its signature does not show them."""
    names = [name for name, one in inspect.signature(function).parameters.items() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    call_name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs and not renamed.keys().isdisjoint(kwargs):
            renew(call_name, names, kwargs)
        return function(*args, **kwargs)

    return call


def _by_old_name(self: Any, name: str) -> Any:
    for new in renamed.get(name, ()):
        if hasattr(type(self), new):
            warn_of(f"{type(self).__name__}.{name}", new)
            return getattr(self, new)
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


def has_old_names(made: C) -> C:
    """The same class, whose objects have their attributes by the old names too; dir() does not show them."""
    setattr(made, "__getattr__", _by_old_name)
    return made

_makers = {"Graph": "make one with garner.build, open, read or generate"}


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "int":
        try:
            return not isinstance(value, (str, float)) and operator.index(value) is not None
        except TypeError:
            return False
    plain: dict[str, tuple[type, ...]] = {"str": (str,), "float": (float, int), "bool": (bool,)}
    if wanted in plain:
        return isinstance(value, plain[wanted])
    return wanted not in _makers or type(value).__name__ == wanted


def _parsed(signature: str) -> ast.FunctionDef:
    head = re.sub(r"\\\d+", "None", signature.rsplit(" -> ", 1)[0])  # defaults stand elsewhere
    parsed = ast.parse(head + ": ...").body[0]
    assert isinstance(parsed, ast.FunctionDef)
    return parsed


def keywords_of(made: Any) -> list[str]:
    """What a class of _garner takes by keyword alone."""
    return [one.arg for one in _parsed(made.__init__.__nb_signature__[0][0]).args.kwonlyargs]


def require_known(call: str, given: Iterable[str], taken: Iterable[str], others: Iterable[str]) -> None:
    """That each of these keywords is among those that are taken; the nearest one is named, of the call's `others` too."""
    taken = set(taken)
    for name in given:
        if name not in taken:
            near = difflib.get_close_matches(name, sorted({*taken, *others}), 1, 0.8)
            raise KindError(f"{call}() has no keyword '{name}'{f'; did you mean {near[0]}=?' if near else ''}; help({call}) lists them")


def _reason(name: str, signature: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    parsed = _parsed(signature)
    takes = parsed.args.posonlyargs + parsed.args.args
    takes = takes[1:] if takes and takes[0].arg == "self" else takes
    names = [one.arg for one in takes]
    if len(args) > len(names):
        return f"takes {len(names)} arguments and was given {len(args)}" + ("; pass options by name" if parsed.args.kwonlyargs else "")
    given = dict(zip(names, args))
    for one in takes:
        if one.arg in kwargs and one.arg in given:
            return f"{one.arg} was given twice"
    given.update(kwargs)
    required = takes[:len(takes) - len(parsed.args.defaults)]
    for one in required:
        if one.arg not in given:
            return f"{one.arg} is missing"
    known = takes + parsed.args.kwonlyargs
    for key in given:
        if key not in [one.arg for one in known]:
            return f"has no argument '{key}'"
    for one in known:
        wanted = ast.unparse(one.annotation) if one.annotation else "object"
        takes_none = {"None", "object"} & set(re.findall(r"\w+", wanted)) and not (wanted == "object" and one in required)
        if one.arg in given and given[one.arg] is None and not takes_none:
            return f"{one.arg}=None; give " + (f"a value of type {wanted}" if wanted != "object" else "one")
        if one.arg in given and not _fits(given[one.arg], wanted):
            return f"{one.arg}={told(given[one.arg])} is not " + (f"a {wanted}; {_makers[wanted]}" if wanted in _makers else f"of type {wanted}")
        if one.arg in given and wanted == "int" and operator.index(given[one.arg]) < 0:
            return f"{one.arg}={told(given[one.arg])}: use 0 or more"
    return "an argument is of the wrong type or too large"


def spoken(function: Callable[..., Any], name: str, method: bool = False) -> Callable[..., Any]:
    """The same function, whose complaints about its arguments are sentences."""
    def signature_of() -> str:
        made: Any = getattr(function, "__init__") if isinstance(function, type) else function
        return str(made.__nb_signature__[0][0])

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not renamed.keys().isdisjoint(kwargs):
            takes = _parsed(signature_of()).args
            renew(name, [one.arg for one in (*takes.posonlyargs, *takes.args, *takes.kwonlyargs)], kwargs)
        try:
            return function(*args, **kwargs)
        except TypeError as e:
            if "incompatible function arguments" not in str(e):
                raise
            signature = signature_of()
            reason = _reason(name, signature, args[1:] if method else args, kwargs)
        raise TypeError(f"{name}(): {reason}; see help(garner.{name})")

    return call


def speak(module: types.ModuleType, into: dict[str, Any]) -> None:
    """All functions of the module, and the methods of its classes."""
    for name, found in vars(module).items():
        if type(found).__name__ == "nb_func" and not name.startswith("_"):
            into[name] = spoken(found, name)
        elif isinstance(found, type) and name not in ("Table", "ListSums"):
            has_old_names(found)
            for key, method in list(vars(found).items()):
                if type(method).__name__ in ("nb_func", "nb_method") and not key.startswith("_"):  # nb_func: called of the class
                    setattr(found, key, spoken(method, f"{name}.{key}", type(method).__name__ == "nb_method"))
