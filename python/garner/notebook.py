"""How graphs, tables and loaders show themselves in a notebook: a small table of what they are and where they lie. _garner calls it too."""
from __future__ import annotations

import html
from typing import Any



def table(title: str, rows: dict[str, Any]) -> str:
    """HTML of a title and a row per entry; numbers have commas."""
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>"
                    f"{html.escape(f'{value:,}' if isinstance(value, int) and not isinstance(value, bool) else str(value))}</td></tr>"
                    for name, value in rows.items())
    return f"<table><caption style='text-align:left'>{html.escape(title)}</caption>{cells}</table>"


def described(about: Any) -> str:
    """The class of an object and its attributes, which are all read-only."""
    values = {name: value for name in dir(about) if not name.startswith("_") and not callable(value := getattr(about, name))}
    return f"<garner.{type(about).__name__} {', '.join(f'{name}={value!r}' for name, value in values.items())}>"


def of_graph(graph: Any) -> str:
    about = graph.info
    return table(f"garner.Graph {graph.name}", {
        "nodes": about.num_nodes, "edges": about.num_edges, "direction": "directed" if about.directed else "undirected, each edge counts twice",
        "weights": about.weights, "in-edges": "stored" if about.in_edges else "made when needed" if about.directed else "the same",
        "compressed": "yes" if about.compressed else "no", "ids": "names" if graph.names is not None or about.names_digest else "whole numbers"})


def of_hetero(graph: Any) -> str:
    return table(f"garner.HeteroGraph {graph.name}", {**{one.name: f"{one.count:,} nodes" for one in graph.node_types},
                                                      **{" ".join(one.key): f"{one.stored_edges:,} edges" for one in graph.edge_types}})
