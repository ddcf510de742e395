"""What is said where a call does not fit a function of _garner: which argument, and what it takes, and not a dump of signatures. What arrays
and numbers may be: _checks.py."""
from __future__ import annotations

import ast
import difflib
import functools
import operator
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

from ._checks import told
from .errors import KindError

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
        return f"takes {len(names)} arguments and was given {len(args)}" + (", options are said by name" if parsed.args.kwonlyargs else "")
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
            return f"{one.arg}=None is no {wanted}" if wanted != "object" else f"{one.arg}=None; give one"
        if one.arg in given and not _fits(given[one.arg], wanted):
            return f"{one.arg}={told(given[one.arg])} is no {wanted}" + (f"; {_makers[wanted]}" if wanted in _makers else "")
        if one.arg in given and wanted == "int" and operator.index(given[one.arg]) < 0:
            return f"{one.arg}={told(given[one.arg])}: say 0 or more"
    return "an argument is of the wrong type or too large"


def spoken(function: Callable[..., Any], name: str, method: bool = False) -> Callable[..., Any]:
    """The same function, whose complaints about its arguments are sentences."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as e:
            if "incompatible function arguments" not in str(e):
                raise
            made: Any = getattr(function, "__init__") if isinstance(function, type) else function
            signature = made.__nb_signature__[0][0]
            reason = _reason(name, signature, args[1:] if method else args, kwargs)
        raise TypeError(f"{name}(): {reason}; help(garner.{name}) tells more")

    return call


def speak(module: types.ModuleType, into: dict[str, Any]) -> None:
    """All functions of the module, and the methods of its classes."""
    for name, found in vars(module).items():
        if type(found).__name__ == "nb_func" and not name.startswith("_"):
            into[name] = spoken(found, name)
        elif isinstance(found, type) and name not in ("Table", "ListSums"):
            for key, method in list(vars(found).items()):
                if type(method).__name__ in ("nb_func", "nb_method") and not key.startswith("_"):  # nb_func: called of the class
                    setattr(found, key, spoken(method, f"{name}.{key}", type(method).__name__ == "nb_method"))
