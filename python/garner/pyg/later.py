"""Attributes of a mini-batch that are made when somebody reads them: e_id, which takes a look-up an edge and few read.

In PyG's stores they stand like any other: they are among keys() and `in` finds them. to(), cpu() and what else applies a function to all attributes leave
them for later. Copies share what is not made yet; pickling makes it, and so does Data's keys(), which compares attributes with None.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_geometric.data.storage import EdgeStorage, GlobalStorage, recursive_apply  # type: ignore[import-not-found, import-untyped, unused-ignore]


class Later:
    """A value that is made once."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def now(self) -> Any:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made


def now(value: Any) -> Any:
    return value.now() if isinstance(value, Later) else value


class _Mapping(dict[str, Any]):
    """What a store keeps its attributes in."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, Later):
            self[key] = value = value.now()
        return value

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def pop(self, key: str, *default: Any) -> Any:
        return now(super().pop(key, *default))

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def raw(self, key: str) -> Any:
        return super().__getitem__(key)

    def __copy__(self) -> _Mapping:
        copied = _Mapping()
        for key in self:
            copied[key] = self.raw(key)
        return copied

    copy = __copy__

    def setdefault(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else super().setdefault(key, default)

    def __reduce__(self) -> Any:
        return dict, (dict(self.items()),)


def _apply(store: Any, function: Callable[[Any], Any], *keys: str) -> Any:
    """In place of BaseStorage.apply(), which reads all attributes."""
    kept = store._mapping
    for key in [key for key in keys or kept if key in kept]:
        value = kept.raw(key) if isinstance(kept, _Mapping) else kept[key]
        if isinstance(value, Later):
            kept[key] = Later(lambda value=value: recursive_apply(value.now(), function))  # type: ignore[misc]
        else:
            store[key] = recursive_apply(value, function)
    return store


def _to_dict(store: Any) -> dict[str, Any]:
    """In place of BaseStorage.to_dict(), whose copy the caller takes for a plain dict."""
    found = dict(store._mapping.items())
    if "_num_nodes" in store.__dict__:
        found["_num_nodes"] = store.__dict__["_num_nodes"]
    return found


class LazyGlobalStorage(GlobalStorage):  # type: ignore[misc]
    apply, to_dict = _apply, _to_dict


class LazyEdgeStorage(EdgeStorage):  # type: ignore[misc]
    apply, to_dict = _apply, _to_dict


_lazy = {GlobalStorage: LazyGlobalStorage, EdgeStorage: LazyEdgeStorage}


def put(store: Any, key: str, value: Any) -> None:
    """Sets an attribute of a store; a Later is made when it is read."""
    if isinstance(value, Later):
        lazy = _lazy.get(type(store))
        if lazy is not None:
            object.__setattr__(store, "__class__", lazy)  # PyG's own would write an attribute
            store.__dict__["_mapping"] = _Mapping(store._mapping)
        elif type(store) not in _lazy.values():  # of a kind that is not known here
            value = value.now()
    store[key] = value
