"""Garner's binding; import garner instead."""

from collections.abc import Sequence
import os
from typing import Annotated, Any

import numpy
import numpy.typing
from numpy.typing import NDArray


def _version() -> str: ...

def info() -> dict[str, object]:
    """
    What this Garner is: 'version', 'cuda' (built for GPUs), 'devices' (a dict each: name, memory_bytes, free_bytes, ...), 'no_device'
    (why no GPU can be used, and what to try; else None).
    """

def _examine_machine(device: object, more: list[tuple[str, str, str]]) -> tuple[bool, list[tuple[str, str, str]], str]:
    """
    The checks, `more` behind them: whether all is usable; name, found and advice of each; and the text.
    """

def _why_gpu_unusable() -> str:
    """
    Does not initialize CUDA. Empty: a GPU can be used, or the machine lacks one.
    """

def _watch(on: bool) -> None:
    """garner.progress: whether the library reports how far it is."""

def _watched() -> tuple[str, int, int] | None:
    """What it does, how much is done, and of how much."""

def _stop() -> None:
    """As Ctrl-C, until _watch(False)."""

def parse_bytes(bytes: int | str) -> int:
    """
    A size as all options take it: "8GiB" or "1.5 GiB" in powers of 1024 ("8G" too), "8GB" or "512 MB" of 1000, plain bytes.
    """

def limit_host_memory(bytes: int | str | None) -> None:
    """
    What Garner may take of host memory, as "8GiB"; whatever would pass it raises OutOfMemory. None: no limit.
    """

def limit_device_memory(device: int, bytes: int | str | None) -> None:
    """What Garner may take of a device's memory."""

class GraphInfo:
    """What one knows of a graph without its arrays."""

    def __repr__(self) -> str: ...

    @property
    def num_nodes(self) -> int: ...

    @property
    def num_edges(self) -> int:
        """stored: an undirected edge counts twice"""

    @property
    def id_bytes(self) -> int:
        """4 or 8: bytes of one entry of the edge list"""

    @property
    def weights(self) -> str:
        """'none', 'u32' or 'f32'"""

    @property
    def directed(self) -> bool: ...

    @property
    def in_edges(self) -> bool:
        """a directed graph that also holds its in-edges (CSC)"""

    @property
    def reversed(self) -> bool:
        """rows hold in-edges, as HeteroGraph.adjacency() has them"""

    @property
    def id_map(self) -> bool:
        """internal ids differ from the user's by a table"""

    @property
    def id_base(self) -> int:
        """user id = internal id + id_base, unless there is a table"""

    @property
    def order(self) -> str:
        """'natural', 'degree', 'bfs', 'random' or 'score'"""

    @property
    def compressed(self) -> bool:
        """targets and weights are compressed"""

    @property
    def names_digest(self) -> int:
        """of the names of its nodes, for garner.read_names; 0: they have none"""

class BuildReport:
    """What happened on the way from edges to a graph."""

    def __repr__(self) -> str: ...

    @property
    def edges_read(self) -> int: ...

    @property
    def loops_dropped(self) -> int: ...

    @property
    def loops_kept(self) -> int: ...

    @property
    def duplicates_dropped(self) -> int: ...

    @property
    def isolated(self) -> int:
        """nodes without any edge"""

    @property
    def compacted(self) -> bool: ...

    @property
    def bytes_needed(self) -> int:
        """host memory at the peak, predicted before it started"""

class Graph:
    """
    A graph in memory: CSR, its offsets in host memory, its edges in a tier. Made by open, read, build and generate.
    Vertices are named by the user's ids; entry k of every result belongs to the node ids()[k].
    """

    @property
    def info(self) -> GraphInfo: ...

    @property
    def name(self) -> str:
        """of its file, as messages call it"""

    @property
    def report(self) -> BuildReport | None:
        """what was dropped while it was built; None where it was opened"""

    @property
    def names(self) -> Any:
        """
        ids that garner.read_edges renumbered: entry k belongs to node k; else None
        """

    @names.setter
    def names(self, value: Any, /) -> None: ...

    def __len__(self) -> int: ...

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str: ...

    def ids(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
        """All nodes by the user's ids, ascending. Shape: (nodes,), int64."""

    def csr(self, side: str = 'out') -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64] | numpy.typing.NDArray[numpy.float32] | None]:
        """
        The adjacency as arrays (offsets, targets, weights or None), as scipy.sparse.csr_array((weights, targets, offsets)) takes
        them: row k is the node ids()[k], and so is target k. Read only. Not copied where they lie plain in host memory in the order
        of ids(); the graph stays there as long as such arrays live. Compressed adjacency, that on a device and that of a reordered graph are
        copied. Targets are int32 where they fit, weights int32, int64 or float32. An undirected edge stands twice. side='in': the sources
        of in-edges instead of targets. Errors: InputError where a directed graph has no in-edges; make_in_edges() makes them.
        """

    def position(self, id: int) -> int:
        """
        The k with ids()[k] == id: where this node stands in every result. Errors: IdError for an id that does not exist.
        """

    def save(self, file: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> list[str]:
        """
        Writes the graph, whole or not at all: a graph file (.gnr) keeps everything, other endings are those of `garner convert`.
        Returns what the format could not keep. Errors: FileError, UsageError where such a file is not written.
        """

    def to(self, device: object, edges: str | None = None) -> Graph:
        """
        Makes the graph readable for a device (edges 'host', 'device' or 'managed'; None: as garner.open), or for 'cpu' again.
        In place, and returns it. Errors: UsageError while a search or a loader holds it, unless it can be read there as it lies;
        where moving fails the graph stays as it was.
        """

    def make_in_edges(self) -> Graph:
        """
        Makes the in-edges of a directed graph that has none (info.in_edges), as sampling along them, PageRank and training do at their
        first use. In place, and returns it; a save() has them. Takes as much memory as the edges that there are.
        Errors: InputError where its edges stay in a file.
        """

    def reorder(self, by: str = 'degree', seed: int = 1, scores: object = None) -> Graph:
        """
        Lays the nodes in another order inside ('degree', 'bfs', 'random', 'score'; 'natural' again); ids and results stay the user's.
        scores: 'score': shape (nodes,), float32, as garner.score gives them: the highest first.
        In place, and returns it; edges lie in host memory afterwards. Errors: as of to().
        """

    def digest(self) -> int:
        """
        A number that two graphs have in common where ids, edges, weights and their order are the same, wherever they lie: as processes
        compare what they opened. A pass over the edges.
        """

    def pick_sources(self, count: int, seed: int = 1) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
        """
        Vertices with edges that leave them, a pure function of graph, count and seed; may repeat. Shape: (count,), int64; empty where
        no node has edges.
        """

def open(file: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, device: object = 'cpu', edges: str | None = None, weights: bool | None = None, in_edges: bool | None = None, check: bool = True) -> Graph:
    """
    Opens a graph file (.gnr), or makes a graph in memory: 'kron:20', 'uniform:22:32', 'web:18' (KIND:SCALE or KIND:SCALE:EDGE_FACTOR).

    device: that will run the algorithms: 'cpu', 'cuda', 'cuda:1', 'simulated'
    edges: memory tier of the edges: 'host' (mapped for the device), 'device', 'managed', 'file' (left there); None: 'device' where
      they and the state of an algorithm fit, else 'host'
    weights, in_edges: None: where the file has them; True: InputError where it has no weights, in-edges are made
      (a file of a dataset holds in-edges alone, whose out-edges are made: twice the memory)
    check: the checksums; offsets and targets are checked in any case
    Errors: FileError where it cannot be read, InputError where it is damaged, OutOfMemory.
    """

def read(file: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, undirected: bool | None = None, keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, numbering: str = 'automatic', id_bytes: int = 0, random_weights: tuple[float, float] | None = None, weight_seed: int = 1, memory_limit: int | str | None = None) -> Graph:
    """
    Reads a file of any other format that `garner convert` reads, by its ending (.el .wel .csv .txt .tsv .edgelist .edges
    .mtx .gr .col .graph .sg .wsg .bel .v .e, plain, .gz or .zst, .npy .npz).

    undirected: each edge in both directions; None: as the format says, else directed
    keep_duplicates: else of equal edges the one with the smallest weight stays; keep_loops
    in_edges: also the in-edges of a directed graph (CSC); else they are made at their first use
    numbering: 'automatic', 'keep' (gaps become isolated nodes) or 'compact'; id_bytes: 4, 8, or 0 for what fits
    random_weights: (low, high), whole numbers for u32 weights, else f32, random by weight_seed
    memory_limit: most bytes of host memory to take, as "8GiB"
    Errors: InputError for an edge that cannot be (it is named), UsageError, OutOfMemory, FileError, Interrupted.
    """

def _build(source: object, target: object, weights: object, num_nodes: int | None, **options: object) -> Graph:
    """garner.build, of arrays."""

def _adjacency(source: object, target: object, sources: int, targets: int, weights: object, backward: bool, edge_ids: bool, name: str, times: object = None, times_of_edges: bool = False, device: object = 'cpu') -> tuple[Graph, bool, numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64] | None]:
    """
    The neighbors of each target (backward: source) as out-edges, of edges as they lie; whether entry k is edge k; and where
    edge_ids is set and it is not, the edge of each entry: int32 whose bits are those of uint32, from 2^32 edges on int64. times: one an edge, or one a
    node of the type that is sampled: the neighbors of a node are in their order. device: that sorts them.
    """

def generate(kind: str = 'kron', scale: int = 20, edge_factor: int = 16, seed: int = 1, *, device: object = 'cpu', undirected: bool | None = None, keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, numbering: str = 'automatic', id_bytes: int = 0, random_weights: tuple[float, float] | None = None, weight_seed: int = 1, memory_limit: int | str | None = None) -> Graph:
    """
    A generated graph: undirected, 2^scale nodes, edge_factor * 2^scale random edges; the same bits on every device.

    kind: 'kron' (Graph500: A .57 B .19 C .19 D .05), 'uniform', 'web' (in the manner of a crawl)
    device: that makes it: 'cpu' or 'cuda'
    undirected: each edge in both directions; None: as the format says, else directed
    keep_duplicates: else of equal edges the one with the smallest weight stays; keep_loops
    in_edges: also the in-edges of a directed graph (CSC); else they are made at their first use
    numbering: 'automatic', 'keep' (gaps become isolated nodes) or 'compact'; id_bytes: 4, 8, or 0 for what fits
    random_weights: (low, high), whole numbers for u32 weights, else f32, random by weight_seed
    memory_limit: most bytes of host memory to take, as "8GiB"
    Errors: InputError for an edge that cannot be (it is named), UsageError, OutOfMemory, FileError, Interrupted.
    """

def _convert_rows(source: object, file: object) -> None:
    """Rows of an .npy or feature file as the other."""

def _convert(source: object, file: object, **options: object) -> GraphInfo:
    """garner.convert of a file that is not a table."""

def _convert_folder(folder: object, file: object, undirected: bool, id_bytes: int) -> list[str]:
    """garner.convert of the folder of a data set; its notes."""

class _GraphWriter:
    """
    A graph file of edges that arrive in parts; see graph_writer in garner/handle.hpp.
    """

    def __init__(self, file: object, source: str, scratch: object, **options: object) -> None: ...

    def add(self, source: object, target: object, weights: object) -> None: ...

    def add_names(self, source: tuple[object, object, int, object], target: tuple[object, object, int, object], weights: object) -> None: ...

    def rest(self) -> None: ...

    def finish(self, num_nodes: int = 0, reversed: bool = False) -> GraphInfo: ...

    @property
    def names(self) -> int: ...

    def read_names(self, first: int, count: int) -> tuple[numpy.typing.NDArray[numpy.int64], bytes]: ...

class _NameNumbers:
    """
    Numbers names in the order of their first appearance; see name_numbers in garner/handle.hpp.
    """

    def __init__(self, source: str, scratch: object, memory_limit: int) -> None: ...

    def number(self, column: tuple[object, object, int, object]) -> numpy.typing.NDArray[numpy.int64]: ...

    @property
    def names(self) -> int: ...

    @property
    def digest(self) -> int: ...

    def read_names(self, first: int, count: int) -> tuple[numpy.typing.NDArray[numpy.int64], bytes]: ...

class NodeType:
    """
    A type of nodes: its name, how many there are, and where their arrays lie (None: nowhere).
    """

    @property
    def name(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def features(self) -> str | None:
        """an .npy, a row per node"""

    @property
    def labels(self) -> str | None:
        """an .npy, a row per node"""

    @property
    def times(self) -> str | None:
        """an .npy of int64, one per node"""

    @property
    def train(self) -> str | None:
        """an .npy of int64: training nodes"""

    @property
    def valid(self) -> str | None:
        """an .npy of int64"""

    @property
    def test(self) -> str | None:
        """an .npy of int64"""

    @property
    def names(self) -> str | None:
        """the file of the names of its nodes, for garner.read_names"""

    def __repr__(self) -> str: ...

class EdgeType:
    """
    A type of edges: a triple of names, how many there are, and where their arrays lie (None: nowhere).
    """

    @property
    def key(self) -> tuple[str, str, str]:
        """(from, relation, to), as HeteroData names it"""

    @property
    def file(self) -> str | None:
        """the graph file of its adjacency"""

    @property
    def stored_edges(self) -> int:
        """entries of the adjacency"""

    @property
    def num_edges(self) -> int:
        """in the data set: rows of features"""

    @property
    def edge_ids(self) -> str | None:
        """
        an .npy of int64: which edge each entry of the adjacency is; None: entry k is edge k
        """

    @property
    def times(self) -> str | None:
        """an .npy of int64, one per entry"""

    @property
    def features(self) -> str | None:
        """an .npy, a row per edge"""

    def __repr__(self) -> str: ...

class HeteroGraph:
    """
    A graph of several types of nodes and edges, made by open_hetero. In the adjacency of an edge type (from, relation,
    to) row v is a node of type `to`, and holds its neighbors of type `from`, as a CSC of PyG.
    """

    def _repr_html_(self) -> str: ...

    @property
    def name(self) -> str:
        """of its dataset file, as messages call it"""

    @property
    def node_types(self) -> list[NodeType]: ...

    @property
    def edge_types(self) -> list[EdgeType]: ...

    def adjacency(self, edge_type: tuple[str, str, str] | int) -> Graph:
        """
        The adjacency of an edge type, by its key or its position in edge_types. Samplers read its rows, with either side; algorithms take
        the graph that garner.open makes of its file. It is not copied, and stays where it is while this
        HeteroGraph lives: its to() and reorder() are refused. It has as many rows as the larger of both types; those behind the last
        node of type `to` are empty. Errors: InputError names the keys that there are.
        """

    def __repr__(self) -> str: ...

def open_hetero(file: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, device: object = 'cpu', edges: str | None = None, weights: bool | None = None, in_edges: bool | None = None, check: bool = True) -> HeteroGraph:
    """
    Opens a dataset file, as the program's `convert FOLDER NAME.json` makes it of OGB's, MAG240M's and IGB's folders.

    device, edges, weights, in_edges, check: of every edge type, as of open()
    Errors: FileError, InputError (it names the dataset file, the key and the file), OutOfMemory.
    """

UNREACHED: int = -1

NO_VERTEX: int = -1

UNREACHED_DISTANCE: int = -1

class Traffic:
    """
    What crosses the link: simulated: counted; device: the same model in closed form; host: nothing.
    """

    @property
    def requests(self) -> list[int]:
        """how many of 32, 64, 96 and 128 bytes"""

    @property
    def pages(self) -> int:
        """of 4 KiB, moved by UVM (edges 'managed')"""

    @property
    def bytes_useful(self) -> int: ...

    @property
    def bytes_link(self) -> int: ...

    def __repr__(self) -> str: ...

class ShardRun:
    """What one device did of a run over several."""

    @property
    def device(self) -> str: ...

    @property
    def vertices(self) -> int:
        """of its part"""

    @property
    def edges(self) -> int:
        """that are stored for them"""

    @property
    def ms(self) -> float:
        """its own work"""

    @property
    def link(self) -> Traffic: ...

    @property
    def bytes_exchanged(self) -> int:
        """that it read of the other shards"""

class BfsLevel:
    """What happened at one depth."""

    @property
    def frontier(self) -> int:
        """vertices at this depth"""

    @property
    def edges(self) -> int:
        """edges that leave them"""

    @property
    def bytes_link(self) -> int: ...

    @property
    def ms(self) -> float: ...

    @property
    def bytes_exchanged(self) -> int:
        """that shards read of each other"""

    @property
    def bottom_up(self) -> bool: ...

class BfsRun:
    """
    What a search did; times in ms, state made and cleared before the clock starts.
    """

    @property
    def source(self) -> int: ...

    @property
    def reached(self) -> int:
        """vertices, the source among them"""

    @property
    def edges(self) -> int:
        """edges that leave them"""

    @property
    def depth_max(self) -> int: ...

    @property
    def depth_sum(self) -> int: ...

    @property
    def ms(self) -> float: ...

    @property
    def prepare_ms(self) -> float:
        """of a first run: what came before its clock; of later ones 0"""

    @property
    def gteps(self) -> float:
        """1e9 edges a second; of an undirected graph each edge counts once"""

    @property
    def link(self) -> Traffic: ...

    @property
    def verified(self) -> bool: ...

    @property
    def levels(self) -> list[BfsLevel]: ...

    @property
    def shards(self) -> list[ShardRun]:
        """
        one for each of several devices, or the first alone if faster; empty: one device
        """

    def __repr__(self) -> str: ...

class BfsResult:
    """
    Entry k belongs to the vertex graph.ids()[k]; of several sources: entry [s, k], from sources[s].
    """

    @property
    def run(self) -> BfsRun:
        """of the first source"""

    @property
    def runs(self) -> list[BfsRun]:
        """one per source"""

    @property
    def depth(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        shape (vertices,) or (sources, vertices); -1 (UNREACHED) where the source does not lead
        """

    @property
    def parent(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        of depth's shape; a vertex before it on some shortest path, the source its own, -1 (NO_VERTEX) where unreached
        """

def bfs(graph: Graph, source: int | None = None, *, sources: Sequence[int] | None = None, max_depth: int | None = None, variant: str | None = None, cached_neighbors: int | None = None, device: object = 'cpu', edges: str | None = None, graph_cache: int | str | None = None, verify: bool = False, devices: list[object] | None = None) -> BfsResult:
    """
    Breadth-first search (EMOGI, PVLDB 14(2) 2020). Result: depth and parent, entry k of the vertex graph.ids()[k], and run.
    sources: several instead of one, whose buffers are made once: row s of the result is of sources[s]

    max_depth: vertices farther from the source stay unreached, and edges beyond it unread
    variant: 'levels', 'direction' (Beamer, Asanovic, Patterson, SC 2012); None: direction where it can
    cached_neighbors: direction: best in-neighbors of each vertex kept in GPU memory, at most 4
    devices: several instead of device, as [0, 1], or one several times: each has a part of the vertices and reads their edges; the
    first runs alone if that is faster, and run.shards names it; edges='device' keeps all, else 'host'
    device: that runs it: 'cpu', 'cuda', 'cuda:1', 'simulated' (counts the requests that a GPU would make over the link)
    edges: their memory tier: 'host', 'device', 'managed'; graph_cache: bytes of GPU memory for copies of remote data, as "1GiB"
    (None: a tenth of the edges); verify: check the result, InternalError if it is wrong
    Errors: InputError where the vertex does not exist or the graph lacks what the algorithm needs, UsageError where options contradict each
    other or the graph does not lie where the algorithm would read it, OutOfMemory, DeviceError, Interrupted.
    """

class BfsSearch:
    """
    Breadth-first search from many sources: the state is made once. Holds the graph.
    """

    def __init__(self, graph: Graph, *, max_depth: int | None = None, variant: str | None = None, cached_neighbors: int | None = None, device: object = 'cpu', edges: str | None = None, graph_cache: int | str | None = None, verify: bool = False, devices: list[object] | None = None) -> None:
        """
        max_depth: vertices farther from the source stay unreached, and edges beyond it unread
        variant: 'levels', 'direction' (Beamer, Asanovic, Patterson, SC 2012); None: direction where it can
        cached_neighbors: direction: best in-neighbors of each vertex kept in GPU memory, at most 4
        devices: several instead of device, as [0, 1], or one several times: each has a part of the vertices and reads their edges; the
        first runs alone if that is faster, and run.shards names it; edges='device' keeps all, else 'host'
        device: that runs it: 'cpu', 'cuda', 'cuda:1', 'simulated' (counts the requests that a GPU would make over the link)
        edges: their memory tier: 'host', 'device', 'managed'; graph_cache: bytes of GPU memory for copies of remote data, as "1GiB"
        (None: a tenth of the edges); verify: check the result, InternalError if it is wrong
        Errors: InputError where the vertex does not exist or the graph lacks what the algorithm needs, UsageError where options contradict each
        other or the graph does not lie where the algorithm would read it, OutOfMemory, DeviceError, Interrupted.
        """

    def run(self, source: int) -> BfsRun: ...

    def depths(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
        """As BfsResult.depth, of the last run."""

    def parents(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
        """As BfsResult.parent, of the last run."""

class SsspRound:
    """One round of a search."""

    @property
    def frontier(self) -> int:
        """vertices whose lists were read"""

    @property
    def edges(self) -> int: ...

    @property
    def bytes_link(self) -> int: ...

    @property
    def ms(self) -> float: ...

class SsspRun:
    """
    What a search did; times in ms, state made and cleared before the clock starts.
    """

    @property
    def source(self) -> int: ...

    @property
    def reached(self) -> int: ...

    @property
    def edges(self) -> int:
        """edges relaxed, some more than once"""

    @property
    def distance_max(self) -> int:
        """u32 weights"""

    @property
    def distance_sum(self) -> int:
        """u32 weights; stops at 2^64 - 1"""

    @property
    def real_max(self) -> float:
        """f32 weights"""

    @property
    def real_sum(self) -> float:
        """f32 weights"""

    @property
    def thresholds(self) -> int: ...

    @property
    def ms(self) -> float: ...

    @property
    def prepare_ms(self) -> float:
        """of a first run: what came before its clock; of later ones 0"""

    @property
    def link(self) -> Traffic: ...

    @property
    def verified(self) -> bool: ...

    @property
    def rounds(self) -> list[SsspRound]: ...

    def __repr__(self) -> str: ...

class SsspResult:
    """Entry k belongs to the vertex graph.ids()[k]."""

    @property
    def run(self) -> SsspRun: ...

    @property
    def distance(self) -> numpy.typing.NDArray[numpy.int64] | numpy.typing.NDArray[numpy.float32]:
        """
        shape (vertices,); u32 weights: int64, -1 (UNREACHED_DISTANCE) where the source does not lead; f32 weights: float32, infinity
        """

def sssp(graph: Graph, source: int, *, variant: str = 'near_far', delta: float | None = None, device: object = 'cpu', edges: str | None = None, graph_cache: int | str | None = None, verify: bool = False) -> SsspResult:
    """
    Shortest paths over weights of 0 and more. Result: distance, entry k of the vertex graph.ids()[k], and run. InputError also names an
    edge whose weight is negative or no number.

    variant: 'near_far' (Davidson et al., IPDPS 2014); delta: how far beyond the least open distance is near (None: from the
    weights)
    device: that runs it: 'cpu', 'cuda', 'cuda:1', 'simulated' (counts the requests that a GPU would make over the link)
    edges: their memory tier: 'host', 'device', 'managed'; graph_cache: bytes of GPU memory for copies of remote data, as "1GiB"
    (None: a tenth of the edges); verify: check the result, InternalError if it is wrong
    Errors: InputError where the vertex does not exist or the graph lacks what the algorithm needs, UsageError where options contradict each
    other or the graph does not lie where the algorithm would read it, OutOfMemory, DeviceError, Interrupted.
    """

class SsspSearch:
    """
    Shortest paths from many sources: the state is made once. Holds the graph.
    """

    def __init__(self, graph: Graph, *, variant: str = 'near_far', delta: float | None = None, device: object = 'cpu', edges: str | None = None, graph_cache: int | str | None = None, verify: bool = False) -> None:
        """
        variant: 'near_far' (Davidson et al., IPDPS 2014); delta: how far beyond the least open distance is near (None: from the
        weights)
        device: that runs it: 'cpu', 'cuda', 'cuda:1', 'simulated' (counts the requests that a GPU would make over the link)
        edges: their memory tier: 'host', 'device', 'managed'; graph_cache: bytes of GPU memory for copies of remote data, as "1GiB"
        (None: a tenth of the edges); verify: check the result, InternalError if it is wrong
        Errors: InputError where the vertex does not exist or the graph lacks what the algorithm needs, UsageError where options contradict each
        other or the graph does not lie where the algorithm would read it, OutOfMemory, DeviceError, Interrupted.
        """

    def run(self, source: int) -> SsspRun: ...

    def distances(self) -> numpy.typing.NDArray[numpy.int64] | numpy.typing.NDArray[numpy.float32]:
        """As SsspResult.distance, of the last run."""

    def parents(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
        """As BfsResult.parent, of the last run; reads the edges once more."""

class ComponentsPhase:
    """A step of 'afforest'."""

    @property
    def what(self) -> str: ...

    @property
    def vertices(self) -> int:
        """whose lists were looked at"""

    @property
    def edges(self) -> int: ...

    @property
    def link(self) -> Traffic: ...

    @property
    def bytes_exchanged(self) -> int:
        """that shards read of each other"""

    @property
    def ms(self) -> float: ...

class ComponentsRun:
    """What the algorithm did; times in ms, until every vertex has its label."""

    @property
    def components(self) -> int:
        """weak ones; an isolated vertex is one of its own"""

    @property
    def largest(self) -> int:
        """vertices in the largest"""

    @property
    def edges(self) -> int:
        """edges looked at"""

    @property
    def ms(self) -> float: ...

    @property
    def prepare_ms(self) -> float:
        """of a first run: what came before its clock; of later ones 0"""

    @property
    def link(self) -> Traffic: ...

    @property
    def verified(self) -> bool: ...

    @property
    def phases(self) -> list[ComponentsPhase]: ...

    @property
    def shards(self) -> list[ShardRun]:
        """
        one for each of several devices, or the first alone if faster; empty: one device
        """

    def __repr__(self) -> str: ...

class ComponentsResult:
    """Entry k belongs to the vertex graph.ids()[k]."""

    @property
    def run(self) -> ComponentsRun: ...

    @property
    def label(self) -> numpy.typing.NDArray[numpy.int64]:
        """shape (vertices,); the smallest id of its component"""

def components(graph: Graph, *, variant: str = 'afforest', first_neighbors: int = 2, seed: int = 1, device: object = 'cpu', edges: str | None = None, graph_cache: int | str | None = None, verify: bool = False, devices: list[object] | None = None) -> ComponentsResult:
    """
    Weak connected components (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018). Result: label, entry k of the vertex graph.ids()[k], and
    run.

    variant: 'afforest'; first_neighbors, seed: of it
    devices: several instead of device, as [0, 1], or one several times: each has a part of the vertices and reads their edges; the
    first runs alone if that is faster, and run.shards names it; edges='device' keeps all, else 'host'
    device: that runs it: 'cpu', 'cuda', 'cuda:1', 'simulated' (counts the requests that a GPU would make over the link)
    edges: their memory tier: 'host', 'device', 'managed'; graph_cache: bytes of GPU memory for copies of remote data, as "1GiB"
    (None: a tenth of the edges); verify: check the result, InternalError if it is wrong
    Errors: InputError where the vertex does not exist or the graph lacks what the algorithm needs, UsageError where options contradict each
    other or the graph does not lie where the algorithm would read it, OutOfMemory, DeviceError, Interrupted.
    """

class PagerankRound:
    """One iteration."""

    @property
    def vertices(self) -> int: ...

    @property
    def edges(self) -> int: ...

    @property
    def l1_change(self) -> float:
        """pull only"""

    @property
    def bytes_link(self) -> int: ...

    @property
    def bytes_exchanged(self) -> int:
        """that shards read of each other"""

    @property
    def ms(self) -> float: ...

class PagerankRun:
    """What the algorithm did; times in ms, all iterations."""

    @property
    def iterations(self) -> int: ...

    @property
    def converged(self) -> bool:
        """the tolerance was reached"""

    @property
    def weighted(self) -> bool:
        """
        edges counted by their weights; False: all equally, whatever weights the graph has
        """

    @property
    def rank_sum(self) -> float: ...

    @property
    def l1_change(self) -> float:
        """of the last iteration"""

    @property
    def edges(self) -> int:
        """edges looked at"""

    @property
    def ms(self) -> float: ...

    @property
    def prepare_ms(self) -> float:
        """of a first run: what came before its clock; of later ones 0"""

    @property
    def link(self) -> Traffic: ...

    @property
    def verified(self) -> bool: ...

    @property
    def rounds(self) -> list[PagerankRound]: ...

    @property
    def shards(self) -> list[ShardRun]:
        """
        one for each of several devices, or the first alone if faster; empty: one device
        """

    def __repr__(self) -> str: ...

class PagerankResult:
    """Entry k belongs to the vertex graph.ids()[k]."""

    @property
    def run(self) -> PagerankRun: ...

    @property
    def rank(self) -> numpy.typing.NDArray[numpy.float32]:
        """shape (vertices,); variant 'pull': shares that sum to 1"""

def pagerank(graph: Graph, *, variant: str = 'pull', damping: float = 0.85, tolerance: float | None = None, iterations: int | None = None, dangling: str = 'redistribute', personalization: dict[int, float] | None = None, weighted: bool = False, device: object = 'cpu', edges: str | None = None, graph_cache: int | str | None = None, verify: bool = False, devices: list[object] | None = None) -> PagerankResult:
    """
    PageRank. Result: rank, entry k of the vertex graph.ids()[k], and run. A directed graph is pulled along its in-edges, which are made
    where it has none.

    variant: 'pull' (power iteration; the same bits each time on one device)
    tolerance: of the L1 change of an iteration (1e-4); iterations: exactly so many; dangling: 'redistribute' or 'drop'
    personal: ids and weights from 0: where it starts and jumps to, as NetworkX's personalization
    weighted: a vertex gives to its neighbors in proportion to the weights of the edges (pull, on one device); False: to all
    equally, whatever weights the graph has (NetworkX uses them unless weight=None); run.weighted reports it
    devices: several instead of device, as [0, 1], or one several times: each has a part of the vertices and reads their edges; the
    first runs alone if that is faster, and run.shards names it; edges='device' keeps all, else 'host'
    device: that runs it: 'cpu', 'cuda', 'cuda:1', 'simulated' (counts the requests that a GPU would make over the link)
    edges: their memory tier: 'host', 'device', 'managed'; graph_cache: bytes of GPU memory for copies of remote data, as "1GiB"
    (None: a tenth of the edges); verify: check the result, InternalError if it is wrong
    Errors: InputError where the vertex does not exist or the graph lacks what the algorithm needs, UsageError where options contradict each
    other or the graph does not lie where the algorithm would read it, OutOfMemory, DeviceError, Interrupted.
    """

class Unified:
    """
    A host array that a device reads in place: pinned and mapped until its last owner is released (the array itself, and
    all that was made of it by DLPack). torch.from_dlpack, cupy.from_dlpack and numpy.from_dlpack take it. Chapter 3 of
    Min's dissertation (PyTorch-Direct, PVLDB 14(11) 2021).
    """

    def __init__(self, array: object, device: object = None) -> None: ...

    def __dlpack__(self, **how: object) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

    @property
    def array(self) -> numpy.typing.NDArray[Any]:
        """the host array, for NumPy"""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def device(self) -> str:
        """that reads it: 'cuda:0', or 'cpu'"""

    @property
    def address(self) -> int:
        """as the device sees it"""

    def __len__(self) -> int: ...

    def __repr__(self) -> str: ...

class GatherRun:
    """What a gather did, or would do."""

    @property
    def strategy(self) -> str: ...

    @property
    def order(self) -> str: ...

    @property
    def duplicates(self) -> str: ...

    @property
    def rows(self) -> int:
        """delivered"""

    @property
    def row_bytes(self) -> int: ...

    @property
    def file_rows(self) -> int:
        """a table in a file: rows that stay there ..."""

    @property
    def file_reads(self) -> int:
        """... and how many of them were read for this"""

    @property
    def why(self) -> str:
        """how the way and the order were chosen"""

    @property
    def link(self) -> Traffic:
        """simulated: traffic on the link for the host's rows"""

    def __repr__(self) -> str: ...

class Table:
    """A tiered table by addresses; garner.tiered is its face."""

    def __init__(self, features: object, device: object = None, feature_cache: int | str | None = None, peer_cache: int | str | None = None, peers: Sequence[int] | None = None, scores: object = None, scales: object = None, group: str | None = None, timeout: float = 60, dtype: str | None = None, host_cache: int | str | None = None, file_cache: int | str | None = None) -> None: ...

    def for_device(self, device: object) -> Table:
        """
        The same table for another device of this process; the rows on peers and in host memory are shared.
        """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def kind(self) -> str:
        """'float32', 'bfloat16', ..."""

    @property
    def row_bytes(self) -> int: ...

    @property
    def device_index(self) -> int:
        """of the GPU that gathers; -1: the CPU"""

    @property
    def device(self) -> str:
        """that gathers: 'cpu', 'cuda:0', 'simulated'"""

    @property
    def rows(self) -> dict[str, int]:
        """how many lie in each tier, by its name"""

    def summary(self) -> str: ...

    def gather(self, batches: Sequence[tuple[int, int, int, bool]], outs: Sequence[int], *, strategy: str = 'automatic', order: str = 'automatic', duplicates: str = 'automatic', to: str | None = None, scales: object = None, multiprocessors: int = 0, stream: int = 0) -> GatherRun:
        """
        Copies the rows of ids at (address, count, bytes of an id, whether unsigned) to addresses on the device that gathers. Nothing
        here knows how long they are.
        """

    def explain(self, ids: int, batches: int = 1, *, strategy: str = 'automatic', order: str = 'automatic', duplicates: str = 'automatic', to: str | None = None, scales: object = None, multiprocessors: int = 0, stream: int = 0) -> GatherRun: ...

    def hits(self, ids: tuple[int, int, int, bool]) -> dict[str, int]: ...

    def put(self, ids: tuple[int, int, int, bool], rows: int, bytes: int) -> None: ...

def _put_rows(file: str | os.PathLike[str], ids: numpy.typing.NDArray[numpy.int64], rows: numpy.typing.NDArray[numpy.uint8]) -> None: ...

def score(graph: Graph, *, by: str = 'expected', train: object = None, train_seed: int = 1, fanouts: Sequence[int] = (12, 12, 12), rule: str = 'all', batch_size: int = 1000, damping: float = 0.85, tolerance: float = 1e-06, iterations: int = 1000, presample: int = 8, device: object = 'cpu', edges: str | None = None) -> numpy.typing.NDArray[numpy.float32]:
    """
    Which rows of a feature table a GNN training with neighbor sampling will read most: garner.tiered(features, scores=...) keeps the
    rows of the highest in GPU memory, Graph.reorder('score', scores=...) lays the nodes so. Shape (nodes,), float32; entry k belongs to the
    node graph.ids()[k], so row k of the table shall be of that node. An edge u -> v says that sampling v may read u.

    by: 'expected' (accesses an epoch, predicted), 'sampled' (the same, corrected by mini-batches sampled beforehand), 'wrpr' (weighted
    reverse PageRank), 'rpr' (reverse PageRank), 'degree'; the first three want train
    train: ids of the training nodes, or a share of all as 0.1, random by train_seed
    fanouts, rule, batch_size: expected, sampled: neighbors sampled at each hop; 'all' (DGL) or 'last' (PyG) sample on; nodes a mini-batch
    presample: sampled: epochs beforehand; damping: rpr, wrpr; tolerance, iterations: rpr (a RuntimeWarning where it has not converged)
    device, edges: as of garner.bfs
    Errors: UsageError, IdError for a training node that does not exist, InputError for an empty training set,
    OutOfMemory, DeviceError, Interrupted. Source: Data Tiering (KDD 2022; chapter 4 of Min's dissertation).
    """

class Shared:
    """
    One table in host memory for several processes of a user; garner.shared makes it or attaches to it. Gone with the
    last process that holds it; here it is held until its last owner is released (this object, and all that was made of it:
    arrays, tables of garner.tiered and garner.unified). Section 3.3 of Min's dissertation.
    """

    @property
    def array(self) -> numpy.typing.NDArray[Any]:
        """the table itself, for NumPy; only its creator may write"""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> object:
        """of NumPy; 'bfloat16' where NumPy has none"""

    @property
    def name(self) -> str: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def created_here(self) -> bool:
        """by this object, which fills and publishes it"""

    @property
    def published(self) -> bool: ...

    def publish(self) -> None:
        """
        It is filled: others may attach. Errors: UsageError where it was not created by this object.
        """

    def map_for(self, device: object) -> int:
        """
        Pins it for a device of this process, once, until the last owner is released; its address as that device reads it.
        garner.tiered and garner.unified do so themselves. Errors: OutOfMemory, DeviceError; UsageError in a child by fork.
        """

    def __len__(self) -> int: ...

    def __dlpack__(self, **how: object) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled, it is its name: unpickling attaches to it."""

    def __repr__(self) -> str: ...

def _graph_bytes(graph: Graph) -> int:
    """What _write_graph takes of a shared table."""

def _write_graph(graph: Graph, shared: Shared, at: int) -> None:
    """
    Its arrays, into a shared table that was created here; `at`: a multiple of a page.
    """

def _graph_in(shared: Shared, at: int, bytes: int) -> Graph:
    """The graph that was written there; nothing is copied."""

def _leave_shared() -> None:
    """As the process ends: nothing that it alone held is left behind."""

def _create_shared(name: str, shape: Sequence[int], type: tuple[int, int], replace_stale: bool) -> Shared: ...

def _attach_shared(name: str, type: tuple[int, int] | None, shape: Sequence[int] | None, timeout: float) -> Shared: ...

class BatchArray:
    """
    What a mini-batch hands over where NumPy cannot: on a device, or of bfloat16. torch.from_dlpack and cupy.from_dlpack
    take it; the stream that they work on is one more that uses the mini-batch.
    """

    def __dlpack__(self, **how: object) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

class SampledNodes:
    """
    The sampled nodes of one type. Its arrays keep the SampledSubgraph alive.
    """

    @property
    def ids(self) -> Any:
        """
        Positions among Graph.ids(): the seeds first, then as they were reached. int64: NumPy's, or of the device (DLPack).
        """

    @property
    def tree(self) -> Any:
        """disjoint: which seed each belongs to, int32; else None"""

    @property
    def by_hop(self) -> list[int]:
        """the seeds, then how many each hop reached first"""

    def __len__(self) -> int: ...

class SampledEdges:
    """
    The sampled edges of one relation. Its arrays keep the SampledSubgraph alive.
    """

    @property
    def edge_index(self) -> Any:
        """
        Both as one array of shape (2, edges): row above col. int64: NumPy's, or of the device (DLPack).
        """

    @property
    def row(self) -> Any:
        """
        The neighbor of each edge, by its number among the nodes of its type. int64.
        """

    @property
    def col(self) -> Any:
        """The node that sampled it. In the order of hops, then of this."""

    @property
    def edge(self) -> Any:
        """
        edge_ids: its position in the adjacency that was sampled, in the order of Graph.ids(); else None
        """

    @property
    def by_hop(self) -> list[int]:
        """how many each hop sampled"""

    def __len__(self) -> int: ...

class SampledSubgraph:
    """
    One sampled mini-batch, on the device that sampled it. For one graph: of_type(0), of_relation(0).
    Layer k has the nodes of the first k + 2 entries of by_hop, and the edges of the first k + 1.
    """

    def of_type(self, type: int) -> SampledNodes: ...

    def of_relation(self, relation: int) -> SampledEdges: ...

    @property
    def number(self) -> int:
        """of the mini-batch"""

    @property
    def seeds(self) -> int:
        """how many"""

    @property
    def device(self) -> str:
        """where its arrays lie: 'cpu', 'cuda:0'"""

    def __repr__(self) -> str: ...

class Relation:
    """
    The adjacency of one relation, for garner.BlockSampler.of_relations: from nodes of one type to nodes of another.
    """

    def __init__(self, graph: Graph, fanouts: Sequence[int], source: int = 0, target: int = 0, side: str = 'in', times: object = None, *, in_time_order: bool = False) -> None:
        """
        fanouts: neighbors to sample per node at each hop, 0 none, -1 all. source, target: the types of the neighbors and of the nodes
        that sample them. side: 'in' samples in-neighbors, 'out' the neighbors that the graph stores. times: shape (edges,), whole
        numbers, in the order of the edges by Graph.ids(), as Graph.csr() has out-edges. in_time_order: the neighbors of each node are
        in the order of the times of their edges, or else of their own: temporal sampling then searches instead of reading each
        entry. This is not checked.
        """

class BlockSampler:
    """
    Samples the mini-batches of a GNN: seeds in, SampledSubgraph out. The graph stays where it is as long as this lives.
    Source: GraphSAGE, NeurIPS 2017.
    """

    def __init__(self, graph: Graph, fanouts: Sequence[int], *, side: str = 'in', times: object = None, seed: int = 1, rule: str = 'last', replace: bool = False, disjoint: bool = False, weighted: bool = False, labor: bool = False, temporal: str | None = None, edges: bool = True, edge_ids: bool = False, induced: bool = False, device: object = 'cpu', adjacency: str | None = None, graph_cache: int | str | None = None, scores: object = None) -> None:
        """
        fanouts: neighbors to sample per node at each hop, 0 none, -1 all
        side: 'in' samples the sources of a node's in-edges, 'out' the targets of its out-edges; the same for an undirected graph
        times: shape (nodes,), whole numbers
        seed: the neighbors of a node are a function of seed, mini-batch, hop, relation, node and tree: the same for any number of threads
        and on every device; rule: the nodes that sample at a hop: 'last' (those that the previous hop reached; PyG) or 'all' (DGL)
        replace: with replacement (where all are wanted, -1, each comes once); weighted: in proportion to the weights of the edges
        labor: LABOR-0 (Balin and Catalyurek, NeurIPS 2023): nodes of a mini-batch sample the same neighbors where they can, so that it
        has fewer nodes; as many neighbors per node; not with replace, weighted, temporal
        disjoint: one tree per seed; temporal: 'uniform' or 'last': no neighbor is later than its seed, disjoint; needs times
        edges: False: nodes alone, the arrays of edges are empty; edge_ids: the position of each edge in the adjacency; induced: all edges
        among the sampled nodes
        device: that samples: 'cpu', 'cuda', 'cuda:1', 'simulated'; adjacency: the memory tier that it must lie in; None: where it is
        graph_cache: bytes of GPU memory for adjacency that lies in host memory, as "1GiB": that of the nodes with the highest scores
        (shape (nodes,), as garner.score gives them; for several types an array, or None, each); None: that of the first nodes, for graphs
        ordered by degree or score
        Errors: UsageError where options contradict each other, InputError where a graph lacks weights or times.
        """

    @staticmethod
    def of_relations(num_nodes: Sequence[int], relations: Sequence[Relation], *, times: Sequence[object] | None = None, seed: int = 1, rule: str = 'last', replace: bool = False, disjoint: bool = False, weighted: bool = False, labor: bool = False, temporal: str | None = None, edges: bool = True, edge_ids: bool = False, induced: bool = False, device: object = 'cpu', adjacency: str | None = None, graph_cache: int | str | None = None, scores: object = None) -> BlockSampler:
        """
        For several types of nodes: how many there are of each, and the relations between them, as garner.Relation.
        times: an array, or None, for each type. The rest is as for one graph.
        """

    def sample(self, seeds: object, number: int = 0, type: int = 0, times: object = None) -> SampledSubgraph:
        """
        Mini-batch `number` of these seeds: positions of nodes of this type (of a graph without gaps its ids), whole numbers, in
        any order, one that stands twice is there twice; or a bool each node. times: shape (seeds,): of a temporal sampling; None: of
        the seeds' own.
        Errors: IdError, InputError for a seed that does not exist, with its position and the mini-batch.
        """

    def sample_types(self, seeds: Sequence[tuple[object, int, object]], number: int = 0) -> SampledSubgraph:
        """
        The same with seeds of several types: (seeds, type, times or None) each. Positions and trees are counted through.
        """

    @property
    def device(self) -> str:
        """that samples: 'cpu', 'cuda:0', 'simulated'"""

    @property
    def lent(self) -> bool:
        """whether a Loader is using it, so that nothing else can"""

    @property
    def nbytes(self) -> int:
        """bytes of memory on its device that it holds now"""

    def summary(self) -> str:
        """
        One line: where the adjacency lies, and how much of it is in GPU memory.
        """

def sample_negatives(sources: object, num_sources: int, num_targets: int, *, number: int = 0, kind: str = 'binary', amount: float = 1, never_positive: bool = False, seed: int = 1, graph: Graph | None = None) -> Any:
    """
    Negative samples for the edges of a mini-batch, uniform over the nodes of each type, int64.
    kind: 'binary': (sources, targets), amount an edge, of all together, rounded up; 'triplet': targets, amount a source, source by
    source. never_positive: none is an edge of graph. number, seed: as of BlockSampler.
    Errors: UsageError; InputError where a node has an edge to all others, so that none is left.
    """

def _random_walks(graph: Graph, start: object, walk_length: int, *, p: float = 1, q: float = 1, seed: int = 1, side: str = 'out', edge_ids: bool = False, device: object = 'cpu', edges: str | None = None) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
    """garner.random_walk, of flat arrays."""

class GraphPart:
    """
    The adjacency of a block of a graph's nodes, as one of several processes keeps it; garner.torch.remote_graph makes it.
    """

    def __init__(self, graph: Graph, part: int, parts: int, side: str = 'in', balance: str = 'edges', weighted: bool = False) -> None:
        """
        Cut out; the graph may go then. Parts have as many edges each, or nodes.
        """

    @staticmethod
    def of_arrays(first: int, num_nodes: int, first_edge: int, num_edges: int, offsets: object, targets: object, weights: object = None) -> GraphPart:
        """
        From arrays: the adjacency of the nodes from first on, of num_nodes in all, after first_edge of num_edges edges in all.
        """

    @property
    def first(self) -> int:
        """of its nodes, by position"""

    @property
    def edges(self) -> int:
        """of its nodes"""

    @property
    def num_nodes(self) -> int:
        """of the whole graph"""

    @property
    def num_edges(self) -> int:
        """of the whole graph"""

    @property
    def digest(self) -> int:
        """
        a number that parts of one graph have in common: of its sizes, the lengths of its lists and its order; of arrays 0
        """

    @property
    def nbytes(self) -> int:
        """of its adjacency, and of what it knows of its nodes"""

    def __len__(self) -> int: ...

    def to(self, device: object, edges: str | None = None) -> None:
        """As Graph.to. Errors: UsageError while a sampler uses it."""

class SplitSampler:
    """
    Samples a GraphPart on request of any process, and makes the mini-batches of this one: those that BlockSampler makes of
    the whole graph.
    """

    def __init__(self, part: GraphPart, fanouts: Sequence[int], *, seed: int = 1, replace: bool = False, weighted: bool = False, labor: bool = False, edges: bool = True, edge_ids: bool = False, device: object = 'cpu', adjacency: str | None = None) -> None:
        """
        As garner.BlockSampler, without the options that need more than the adjacency of one node.
        """

    def sample(self, number: int, hop: int, nodes: object, batches: object) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]:
        """
        On request: a hop of mini-batches number + batches[i] for nodes[i] of the part: how many neighbors each, these, and
        with edge_ids the positions of their edges in the adjacency of the whole graph. Errors: IdError for a node of another part.
        """

    def begin(self, seeds: Sequence[object], number: int) -> None:
        """
        Mini-batches number, number + 1 ... of these seeds together. Errors: IdError for a seed that does not exist.
        """

    def requests(self) -> tuple[int, numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]] | None:
        """
        (hop, nodes, of which mini-batch each is) that comes next; None: all is sampled.
        """

    def complete(self, counts: object, neighbors: object, edges: object = None) -> None:
        """
        The sampled neighbors for requests(), in its order. Errors: InputError where they cannot be.
        """

    def finish(self) -> list[SampledSubgraph]:
        """The mini-batches, once requests() returns None."""

    @property
    def device(self) -> str:
        """that samples: 'cpu', 'cuda:0', 'simulated'"""

    @property
    def nbytes(self) -> int:
        """bytes of memory on its device that it holds now"""

    @property
    def fingerprint(self) -> int:
        """
        of what decides which neighbors are sampled: all processes must have the same
        """

class MiniBatch:
    """
    What garner.Loader hands over. Its buffers return to the loader once it and all its arrays are released.
    """

    @property
    def epoch(self) -> int: ...

    @property
    def index(self) -> int:
        """in its epoch"""

    @property
    def seeds(self) -> int:
        """how many; they are the first nodes of their type"""

    @property
    def positions(self) -> Any:
        """
        Each seed's position among those that the loader was given. int64. None: the caller passed these seeds to submit().
        """

    def of_type(self, type: int) -> SampledNodes: ...

    def of_relation(self, relation: int) -> SampledEdges: ...

    def rows(self, table: int) -> Any:
        """
        Rows of a table, for all nodes of its type; of a table of labels, for the seeds. Labels count on behind tables. An array of
        NumPy's, or of the device (DLPack).
        """

    def use_on(self, stream: int) -> None:
        """
        Adds a stream that uses it (its address, as torch.cuda.Stream.cuda_stream; 1: the default one) to the one that it was handed
        over to. Work put on the stream from now on finds its rows. Its buffers are reused once the work is done that all these
        streams had been given before the last array was released. torch.from_dlpack and other consumers of DLPack call it.
        """

    @property
    def device(self) -> str:
        """where its arrays lie: 'cpu', 'cuda:0'"""

    def __repr__(self) -> str: ...

class LoaderEpoch:
    """What is left of an epoch of a garner.Loader."""

    def __iter__(self) -> LoaderEpoch: ...

    def __next__(self) -> MiniBatch: ...

class Loader:
    """
    Mini-batches in time: a thread samples them ahead, fetches the remote rows of several of them at once, gathers their
    rows and hands them over. Iterating yields the MiniBatches of one epoch; what was resumed goes on first.
    While it works nothing else can use its sampler. Threads may share it: each mini-batch is one's.
    """

    def __init__(self, sampler: BlockSampler, seeds: object, tables: Sequence[object] = (), labels: Sequence[object] = (), *, edge_tables: Sequence[tuple[object, ...]] = (), batch_size: int = 1024, shuffle: bool = True, drop_last: bool = False, seed: int = 1, seed_type: int = 0, prefetch: int = 2, window: int = 0, strategy: str = 'automatic', window_bytes: int | str | None = None, cache: str = 'next-use', multiprocessors: int = 8, keep_times: int = 0, rank: int | None = None, ranks: int | str | None = None, times: object = None, dtype: str | None = None) -> None:
        """
        seeds: positions of nodes of type seed_type, each once, or a bool per node. tables: one or a list, a row per node: of
        garner.tiered, gathered where the sampler samples, or what garner.tiered takes; of another type of nodes: (table, type).
        labels: the same, of which the rows of the seeds come. edge_tables: (table, relation): of the edges, by SampledEdges.edge, rows behind
        those of labels; (table, relation, k): by the numbers that table k of all, a permutation, has for them.
        seeds None: each epoch is the caller's own, by open() and submit(). times: one a seed, of a temporal sampling. dtype: of the rows of
        tables: 'f32', 'bf16'; None: as they are.
        batch_size, drop_last: seeds per mini-batch; one with fewer is left out. shuffle, seed: the order is a function of seed and epoch.
        prefetch: mini-batches that are ready before they are needed. window: the prefetch window: mini-batches whose remote rows are
        fetched together; 0: 8 to 32,
        as an eighth of free memory has room for; in window_bytes a table (None: a quarter of what is free). multiprocessors: of the
        device, for remote rows; 0: all.
        strategy: 'automatic', 'window', 'tiered': how rows come. cache: of tables that stay in a file, which rows
        stay in memory a while: 'next-use', 'pinned' (by score).
        keep_times: for so many mini-batches report() has the times of each stage.
        rank, ranks: this one of several processes takes its share of the seeds, which must be the same in all; ranks='torchrun': as
        torch.distributed says, or else the environment (RANK, WORLD_SIZE). None: all of the seeds are this process's own.
        Errors: UsageError, InputError for seeds twice or a table with fewer rows than nodes, IdError for a seed that does not exist.
        """

    @property
    def batches(self) -> int:
        """an epoch"""

    def __len__(self) -> int: ...

    def begin(self, epoch: int) -> None:
        """
        The next mini-batch is the first of that epoch; what was under way is dropped.
        """

    def open(self, epoch: int = 0, first_number: int = 0) -> None:
        """
        Begins an epoch of the caller's own, shared with no rank: of the mini-batches that submit() brings, until end(). Mini-batch k samples
        what the sampler samples by number first_number + k. next() has none behind the last until another epoch is begun.
        """

    def submit(self, seeds: Sequence[tuple[object, int, object]]) -> None:
        """
        One more mini-batch of the open epoch: (seeds, type, times or None) of each type that has some, as BlockSampler.sample_types takes
        them, in host memory. One that comes some 5 windows before its turn is sampled and gathered ahead.
        """

    def end(self) -> None:
        """No more mini-batches are given in the open epoch."""

    @property
    def window(self) -> int:
        """mini-batches that are sampled together, as it was chosen by now"""

    def next(self, stream: int | None = None) -> MiniBatch | None:
        """
        The next mini-batch of the epoch, or None at its end, after which the next epoch begins.
        stream: on a device: its rows are there when this stream (an address) has come so far; 0: when this returns; None: the stream
        that torch works on.
        """

    def __iter__(self) -> LoaderEpoch: ...

    def state(self) -> str:
        """
        Where it is, in one line for a file: resume() of a loader over the same graph, seeds and options goes on there.
        """

    def resume(self, state: str) -> None:
        """
        Goes on at the very mini-batch. InputError where the state is of another loader.
        """

    def stop(self) -> None:
        """
        Ends its thread and frees its sampler; next() goes on where it stopped.
        """

    def report(self) -> dict[str, Any]:
        """
        Since begin(), resume() or the making: mini-batches and seeds handed over, what each stage took in ms (they overlap), how long
        the loader and its caller waited for each other, rows by tier, those of the window, bytes that crossed the link. times: when
        each stage of the first keep_times mini-batches began and ended, in ms since the loader was made; sample and fetch of
        mini-batches made together are in the first one, 0 in the others.
        """

    @property
    def nbytes(self) -> int:
        """bytes of memory on its device that it and its sampler hold now"""

    def __repr__(self) -> str: ...

class UpdateRun:
    """What a step of an Embedding did."""

    @property
    def rows(self) -> int:
        """different ones that were stepped"""

    @property
    def remote_rows(self) -> int:
        """of these, in host memory"""

    @property
    def remote_bytes(self) -> int:
        """with their state: so many are read over the link, and as many written"""

    @property
    def link(self) -> Traffic:
        """
        simulated: traffic on the link for reading them; the same bytes are written back
        """

class LearnedTable:
    """A trainable table, by addresses; garner.embedding is its face."""

    def __init__(self, rows: int, width: int, device: object = None, optimizer: str = 'adam', init: str = 'normal', init_scale: float = 1, seed: int = 1, feature_cache: int | str | None = None, scores: object = None, dtype: str = 'f32', file: str | os.PathLike[str] | None = None, host_cache: int | str | None = None) -> None: ...

    @property
    def rows(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def record_bytes(self) -> int: ...

    @property
    def dtype(self) -> str: ...

    @property
    def optimizer(self) -> str: ...

    @property
    def device_index(self) -> int:
        """that gathers and steps; -1: the host"""

    @property
    def device(self) -> str: ...

    @property
    def tiers(self) -> dict[str, int]: ...

    @property
    def steps(self) -> int: ...

    @steps.setter
    def steps(self, arg: int, /) -> None: ...

    @property
    def states(self) -> list[str]: ...

    def summary(self) -> str: ...

    def gather(self, ids: tuple[int, int, int, bool], out: int, stream: int = 0) -> GatherRun: ...

    def update(self, ids: tuple[int, int, int, bool], gradients: int, lr: float, lr_decay: float = 0, betas: tuple[float, float] = (0.9, 0.999), eps: float | None = None, stream: int = 0, dtype: str = 'f32') -> UpdateRun: ...

    def read(self, what: str, init: int, count: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C')]: ...

    def write(self, what: str, first: int, values: numpy.typing.NDArray[numpy.float32]) -> None: ...

    def flush(self) -> None: ...

    def save(self, file: str | os.PathLike[str]) -> None: ...

    def load(self, file: str | os.PathLike[str]) -> None: ...

class ListSums:
    """
    Sums over adjacency lists by addresses; garner.torch.aggregate is its face.
    """

    def __init__(self, device: object) -> None: ...

    @staticmethod
    def scratch_bytes(lists: tuple[int, int, int, int, int, int], shape: tuple[str, int, int]) -> int: ...

    def sum(self, lists: tuple[int, int, int, int, int, int], shape: tuple[str, int, int], rows: int, out: int, weights: int, mean: bool, end_offsets: int, scratch: int, stream: int, own: int, eps: int) -> None: ...

    def dot(self, lists: tuple[int, int, int, int, int, int], shape: tuple[str, int, int], rows: int, gradients: int, out: int, mean: bool, stream: int) -> None: ...

    def soften(self, lists: tuple[int, int, int, int, int, int], shape: tuple[str, int, int], scores: int, weights: int, slope: float, stream: int) -> None: ...

    def soften_back(self, lists: tuple[int, int, int, int, int, int], back: tuple[int, int, int, int, int, int], shape: tuple[str, int, int], scores: int, weights: int, gradients: int, of_scores: int, slope: float, stream: int) -> None: ...

class ShardAggregation:
    """
    A part of a graph and its sums, by addresses; garner.torch.shard is its face.
    """

    def __init__(self, graph: Graph, shard: int, shards: int, side: str, weighted: bool, balance: str, deterministic: bool, host_adjacency: bool, device: object) -> None: ...

    @property
    def first(self) -> int: ...

    @property
    def count(self) -> int: ...

    @property
    def symmetric(self) -> bool:
        """backward needs the rows that forward needs"""

    @property
    def bytes(self) -> int: ...

    def positions(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
        """Where its nodes stand among Graph.ids()."""

    def needs(self, back: bool) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]]:
        """
        How many rows of each shard, and which, by that shard's own numbers, one shard's after the other.
        """

    def begin(self, how: str, back: bool, rows: int, out: int, columns: int, stream: int = 0) -> None: ...

    def reduce_host(self, how: str, back: bool, rows: int, out: int, columns: int) -> None: ...

    def finish(self, how: str, back: bool, rows: int, brought: int, out: int, columns: int, stream: int = 0) -> None: ...

class Model:
    """
    A graph network that Garner trained: GCN, GraphSAGE or GIN. garner.read_model reads one, garner.train makes one.
    """

    @property
    def options(self) -> dict[str, Any]:
        """
        'kind', 'inputs', 'hidden_channels', 'num_classes', 'num_layers', 'layer_norm', 'residual', 'labels', 'scaling'
        """

    @property
    def parameters(self) -> int: ...

    @property
    def device(self) -> str:
        """where its parameters lie: 'cpu', 'cuda:0', 'simulated'"""

    def tensors(self) -> dict[str, numpy.typing.NDArray[numpy.float32]]:
        """Copies of the parameters, by the names that PyG's models have."""

    def save(self, file: str | os.PathLike[str]) -> None:
        """As safetensors."""

    def __repr__(self) -> str: ...

def _read_model(file: str | os.PathLike[str], device: object) -> Model: ...

def _predict(model: Model, graph: Graph, features: object, side: str, weighted: bool, math: str) -> numpy.typing.NDArray[numpy.float32]: ...

class TrainingRun:
    """A training by its arrays; garner.Training is its face."""

    def __init__(self, graph: Graph, features: object, labels: object, split: numpy.typing.NDArray[numpy.uint8], **options: object) -> None: ...

    def next(self) -> dict[str, Any]:
        """One epoch, or what is left of one."""

    def next_steps(self, most: int) -> dict[str, float] | None:
        """
        At most so many steps of an epoch of mini-batches; None: no step of it is left, and next() ends it.
        """

    def evaluate(self) -> dict[str, Any]: ...

    def save_checkpoint(self, file: str | os.PathLike[str]) -> None: ...

    def load_checkpoint(self, file: str | os.PathLike[str]) -> None: ...

    def load_best(self) -> None: ...

    @property
    def model(self) -> Model: ...

    @property
    def devices(self) -> list[str]: ...

    @property
    def activations(self) -> str: ...

    @property
    def finished(self) -> bool: ...

    @property
    def epochs(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def best_epoch(self) -> int | None: ...

    @property
    def bytes(self) -> int: ...
