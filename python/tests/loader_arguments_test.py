"""Arguments of loaders that are wrong: each is refused when the loader is made, in one sentence that names it."""
import inspect
import unittest
import warnings

import numpy as np

import garner

try:
    import torch
    from torch_geometric.data import Data, HeteroData
    import garner.torch
    from garner.pyg import LinkNeighborLoader, NeighborLoader, NeighborSampler
except ImportError:
    torch = None

absent = float("nan")


def data():
    torch.manual_seed(1)
    made = Data(x=torch.randn(40, 3), edge_index=torch.randint(40, (2, 200)))
    made.time, made.moment, made.real_time = torch.arange(40), torch.arange(200), torch.rand(40)
    made.w, made.negative, made.infinite = torch.rand(200), -torch.ones(200), torch.full((200,), float("inf"))
    made.absent = torch.full((200,), absent)
    return made


def types():
    made = HeteroData(a={"x": torch.randn(30, 3)}, b={"x": torch.randn(20, 3)})
    made["a", "b"].edge_index = torch.stack([torch.randint(30, (100,)), torch.randint(20, (100,))])
    made["b", "a"].edge_index = torch.stack([torch.randint(20, (100,)), torch.randint(30, (100,))])
    return made


def nodes(**how):
    return NeighborLoader(**{"data": data(), "num_neighbors": [3, 2], **how})


def links(**how):
    return LinkNeighborLoader(**{"data": data(), "num_neighbors": [3, 2], **how})


def nodes_of_types(**how):
    return NeighborLoader(**{"data": types(), "num_neighbors": [3, 2], "input_nodes": "a", **how})


def links_of_types(**how):
    return LinkNeighborLoader(**{"data": types(), "num_neighbors": [3, 2], "edge_label_index": ("a", "b"), **how})


def plain(**how):
    d = data()
    return garner.torch.loader(**{"graph": garner.build(d.edge_index, num_nodes=40), "fanouts": [3, 2], **how})


def sampler():
    return NeighborSampler(data(), [2])


def ones(*size):
    return torch.ones(*size, dtype=torch.int64)


EVERY = [  # of all loaders: name, values, the error of each
    ("batch_size", (0, -1, 1.5, "4"), "batch_size"),
    ("device", ("banana", 3.5, -1, "cuda:x", "cuda:-1", "cpu:1:2", True, [1]), "device is .*; use 'cpu'"),
    ("device", ("cuda:99", 99, "device:99"), "device is .*GPU"),
    ("feature_cache", ("many", -1, 2.5, "-3GiB", None, True, [1]), "feature_cache is .*bytes"),
    ("graph_cache", ("many", -1, 2.5, True), "graph_cache is .*bytes"),
    ("reserve", ("many", -1, 2.5, True), "reserve is .*bytes"),
    ("loading", (3, "window", ["window"]), "loading is .*dict"),
    ("loading", ({"batch": 3},), "loading has no option 'batch'"),
    ("loading", ({"window": -1}, {"window": 2.5}), "loading: window is"), ("loading", ({"prefetch": -1}, {"prefetch": "2"}), "loading: prefetch is"),
    ("loading", ({"multiprocessors": -1},), "loading: multiprocessors is"), ("loading", ({"keep_times": -1},), "loading: keep_times is"),
    ("loading", ({"strategy": "fast"}, {"strategy": 3}), "loading: strategy is .*window"),
    ("loading", ({"cache": "lots"},), "loading: cache is .*pinned"),
    ("loading", ({"window_bytes": "lots"}, {"window_bytes": -1}), "loading: window_bytes is"),
    ("replace", ("yes", 2, None), "replace is .*use True or False"), ("disjoint", ("no", 2), "disjoint is .*use True or False"),
    ("labor", ("no", 2), "labor is .*use True or False"),
    ("shuffle", ("yes", 2), "shuffle is .*use True or False"), ("drop_last", ("no", 2), "drop_last is .*use True or False"),
    ("scores", (lambda: torch.rand(3), "high", [absent] * 40), "scores"),
    ("bogus", (3,), "bogus"),
]
FANOUTS = [(3, "is 3"), ("32", "is '32'"), ([1.5], r"\[0\] is 1.5"), ([3, -2], r"\[1\] is -2"), (["a"], r"\[0\] is 'a'"), ([[1, 2]], r"\[0\] is"),
           ([True], r"\[0\] is True"), (None, "is None"), ([1 << 21], r"\[0\] is 2097152")]
PYG = [
    ("num_workers", (-1, 1.5, "2"), "num_workers is"), ("prefetch_factor", (0, -1, 1.5), "prefetch_factor is"), ("timeout", (-1,), "timeout"),
    ("temporal_strategy", ("first", 3, None), "temporal_strategy"),
    ("time_attr", ("none_such", 3, ["time"], "real_time", "x", "edge_index"), "none_such|time_attr|real_time|x:|edge_index"),
    ("weight_attr", ("none_such", 3, "x", "edge_index", ["w"]), "weight_attr|weights"), ("weight_attr", ("absent", "negative", "infinite"), "weight"),
    ("subgraph_type", ("whole", 3, None), "subgraph_type is .*'induced'"),
    ("transform", (3,), "transform is 3"), ("transform_sampler_output", ("f",), "transform_sampler_output is 'f'"), ("custom_cls", (3,), "custom_cls is 3"),
    ("neighbor_sampler", (3,), "neighbor_sampler is 3"), ("filter_per_worker", ("maybe",), "filter_per_worker is"), ("is_sorted", ("x",), "is_sorted is"),
    ("pin_memory", ("x",), "pin_memory is"), ("generator", (3,), "generator is 3"), ("graph", (3,), "graph is 3"),
    ("sampler", (3, "abc"), "sampler is"), ("batch_sampler", (3,), "batch_sampler is 3"),
    ("sampler", ([200], [-1], lambda: torch.tensor([200])), "sampler: position"), ("batch_sampler", ([[1], [200]],), "batch_sampler: position"),
    ("device", ("moon", "cuda:99"), "device is '(moon|cuda:99)'"), ("graph_cache", ("lots",), "graph_cache is 'lots'"),
    ("data", ("x", [1, 2], (1, 2, 3), 3), "data is"),
]
CASES = {
    nodes: [
        ("input_nodes", (lambda: torch.tensor([40]), lambda: torch.tensor([-1])), "input_nodes: 40|input_nodes: -1"),
        ("input_nodes", (lambda: torch.rand(3), "a", 3.5, 3, lambda: torch.ones(7, dtype=torch.bool), lambda: ones(2, 2), {"a": 1}, ("a", [1]), [True, 1],
                         object()), "input_nodes"),
        ("input_id", (lambda: torch.arange(3), "x", lambda: torch.rand(40)), "input_id"),
        ("time_attr", ("moment",), "input_time="),
    ],
    links: [
        ("edge_label_index", (lambda: torch.tensor([[40], [1]]), lambda: torch.tensor([[1], [-1]])), r"edge_label_index\[[01]\]: (40|-1)"),
        ("edge_label_index", (lambda: torch.rand(2, 3), lambda: ones(3, 2), lambda: ones(3), "a", 3, [[1, 2], [3]], ("a", "to", "b"), []), "edge_label_index"),
        ("edge_label", (lambda: torch.ones(3), "x", 3), "edge_label"), ("input_id", (lambda: torch.arange(3), 3), "input_id"),
        ("edge_label_time", (lambda: torch.arange(200),), "'time_attr' is not set"), ("time_attr", ("time", "moment"), "'edge_label_time' is not set"),
        ("neg_sampling", ("both", 3, [1], True, {"mode": "none"}, {"amount": 1}), "neg_sampling is .*'triplet'"),
        ("neg_sampling", [{"mode": "binary", "amount": a} for a in (0, -1, "x", absent, float("inf"))] + [{"mode": "triplet", "amount": 1.5}],
         "neg_sampling is .*'triplet'"),
        ("neg_sampling", [lambda end=end, w=w: {"mode": "binary", end: w} for end in ("src_weight", "dst_weight") for w in
                          (np.ones(3), -np.ones(40), np.zeros(40), np.full(40, absent), "x")], "neg_sampling: (src|dst)_weight"),
        ("neg_sampling_ratio", (-1, "x", absent), "neg_sampling_ratio is"),
    ],
    nodes_of_types: [
        ("input_nodes", (lambda: torch.arange(3), "c", ("c", None), lambda: ("a", torch.tensor([30])), ["a"], ("a", "b"), {"a": [1]},
                         lambda: ("a", torch.ones(3, dtype=torch.bool)), None), "input_nodes"),
        ("num_neighbors", ({("a", "to", "b"): [1]}, {("a", "to", "b"): [1], ("b", "to", "a"): [1, 2]}, {("a", "to", "c"): [1]}, {"a": [1]},
                           {("a", "to", "b"): 1, ("b", "to", "a"): [1]}), "num_neighbors"),
        ("weight_attr", ("w", {("a", "to", "b"): "w"}, {"x": "w"}), "weight_attr"), ("time_attr", ("t",), "time_attr 't'"),
        ("scores", (lambda: torch.rand(30), lambda: {"c": torch.rand(3)}), "scores: "),
        ("graph", (lambda: garner.build([0], [1], num_nodes=30),), "graph="),
    ],
    links_of_types: [
        ("edge_label_index", (lambda: ones(2, 3), ("a", "c"), ("a", "knows", "b"), lambda: (("a", "to", "b"), torch.tensor([[30], [0]])), "a", 3,
                              ("a",)), "edge_label_index"),
        ("neg_sampling", (lambda: {"mode": "binary", "src_weight": torch.rand(20)}, lambda: {"mode": "triplet", "dst_weight": torch.rand(30)}),
         "neg_sampling: "),
    ],
    plain: [
        ("graph", (3, None, "g.gnr"), "graph="),
        ("seeds", (lambda: torch.tensor([40]), lambda: torch.tensor([-1]), lambda: torch.rand(3), "a", 3.5, 3, lambda: torch.ones(7, dtype=torch.bool), [],
                   object()), "seed"),
        ("x", (lambda: torch.rand(3, 2), "x", 3, [1] * 40, lambda: torch.tensor(3.0), np.array(["a"] * 40)), "x: "),
        ("y", (lambda: torch.rand(3), "x", [1] * 40), "y: "), ("seed", (1.5, "x", True), "seed is"),
        ("rank", (1,), "rank"), ("ranks", (2, 0, -1, "x", 0.5), "rank"), ("rank", (-1, 0.5), "rank"),
        ("seed_times", (lambda: torch.arange(40),), "seed_times are given, and temporal is not"),
        ("times", (lambda: np.arange(40),), "times are given, and temporal is not"),
        ("temporal", ("last", "first"), "temporal|times"), ("weighted", (True,), "weights"), ("weighted", ("x",), "weighted is"),
        ("side", ("up", 3), "up|side"), ("rule", ("x",), "'x'"), ("edge_ids", ("x",), "edge_ids is"), ("induced", (3,), "induced is"),
        ("edges", ("x",), "edges is"),
        ("device", ("moon", "cuda:99"), "device is '(moon|cuda:99)'"), ("adjacency", ("x",), "'x'"), ("graph_cache", ("x",), "'x'"), ("num_workers", (3,), r"garner.torch.loader\(\) has no keyword 'num_workers'"),
        ("shufle", (True,), r"garner.torch.loader\(\) has no keyword 'shufle'; did you mean shuffle="),
        ("edge_id", (True,), r"no keyword 'edge_id'; did you mean edge_ids="),
    ],
}
TOGETHER = [  # options that contradict each other
    (nodes, {"weight_attr": "w", "time_attr": "time"}, "weight_attr and time_attr"),
    (nodes, {"disjoint": True, "subgraph_type": "induced"}, "induced"), (nodes, {"time_attr": "time", "subgraph_type": "induced"}, "induced"),
    (links, {"disjoint": True, "subgraph_type": "induced"}, "induced"),
    (nodes, {"input_time": lambda: torch.arange(40)}, "'time_attr' is not set"),
    *((nodes, {"input_time": times, "time_attr": "time"}, "input_time")
      for times in (lambda: torch.arange(3), lambda: torch.rand(40), "now", 5, lambda: ones(40, 2))),
    *((links, {"edge_label_time": times, "time_attr": "time"}, "edge_label_time") for times in (lambda: torch.arange(3), lambda: torch.rand(200), "now")),
    (nodes, {"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler"), (nodes, {"sampler": [0, 1], "shuffle": True}, "sampler"),
    (nodes, {"batch_size": None, "drop_last": True}, "drop_last"), (nodes, {"num_neighbors": {("v", "to", "v"): [1]}}, "num_neighbors"),
    (nodes, {"graph": lambda: garner.build([0], [1], num_nodes=3)}, "the graph has 3"),
    *((make, {"neighbor_sampler": sampler, name: value}, f"neighbor_sampler and {name}: ") for make in (nodes, links)
      for name, value in (("labor", True), ("graph", lambda: garner.build([0], [1], num_nodes=40)), ("scores", lambda: torch.rand(40)), ("graph_cache", "1MiB"),
                          ("graph_cache", 0))),
    (links, {"edge_label": lambda: torch.ones(200), "neg_sampling": "triplet"}, "'edge_label' needs to be undefined"),
    (links, {"neg_sampling": "binary", "neg_sampling_ratio": 2.0}, "neg_sampling and neg_sampling_ratio"),
    (plain, {"rank": 2, "ranks": 2}, "rank 2 of 2"), (plain, {"induced": True, "disjoint": True}, "induced|disjoint"),
    (plain, {"temporal": "last", "times": np.arange(3)}, "times"), (plain, {"temporal": "last", "times": np.random.rand(40)}, "times"),
    (plain, {"temporal": "last", "times": np.arange(40), "seed_times": [1, 2]}, "seed_times: 2 times for 40"),
    (plain, {"temporal": "last", "times": np.arange(40), "weighted": True}, "weight|temporal"),
]


def cases():
    for make in (nodes, links, plain):
        for name, values, words in EVERY:
            yield from ((make, {name: value}, words) for value in values)
        name = "fanouts" if make is plain else "num_neighbors"
        yield from ((make, {name: value}, f"{name}.*{words}") for value, words in FANOUTS)
    for make in (nodes, links):
        for name, values, words in PYG:
            yield from ((make, {name: value}, words) for value in values)
    for make, rows in CASES.items():
        for name, values, words in rows:
            yield from ((make, {name: value}, words) for value in values)
    yield from TOGETHER


@unittest.skipIf(torch is None, "needs torch and PyG (torch_geometric)")
class Arguments(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")  # PyG's, of data that say little
        self.addCleanup(warnings.resetwarnings)

    def test_wrong_ones_are_refused_when_the_loader_is_made(self):
        count = 0
        for make, given, words in cases():
            how = {name: value() if callable(value) and not isinstance(value, type) else value for name, value in given.items()}
            with self.subTest(f"{make.__name__}: " + ", ".join(f"{name}={str(value)[:60]!r}" for name, value in how.items())):
                count += 1
                with self.assertRaisesRegex((garner.Error, ValueError, TypeError, NotImplementedError), words) as raised:
                    make(**how)
                said = str(raised.exception)
                self.assertLess(len(said), 320)  # a sentence, not a dump of signatures
                self.assertNotIn("\n", said)
                self.assertNotIn("incompatible function arguments", said)
        self.assertGreater(count, 300)

    def test_arrays_are_told_by_type_shape_and_numbers(self):
        """Whatever argument it is that they are given for."""
        refused = set()
        for make, signature in ((nodes, NeighborLoader), (links, LinkNeighborLoader), (plain, garner.torch.loader)):
            for name in inspect.signature(signature).parameters:
                for value in (torch.rand(3, 77), np.random.rand(77), torch.rand(2, 3).to_sparse()):
                    with self.subTest(make=make.__name__, name=name, value=type(value)):
                        try:
                            make(**{name: value})
                        except (garner.Error, ValueError, TypeError, NotImplementedError) as e:
                            self.assertNotRegex(str(e), r"tensor\(|array\(|\[0\.|\n")
                            self.assertLess(len(str(e)), 320)
                            refused.add((make.__name__, name))
        for make, name in ((plain, "graph"), (plain, "batch_size"), (plain, "device"), (plain, "rank"), (nodes, "data"), (nodes, "device"), (nodes, "replace"),
                           (nodes, "temporal_strategy"), (nodes, "time_attr"), (nodes, "weight_attr"), (links, "neg_sampling"), (links, "reserve")):
            self.assertIn((make.__name__, name), refused)

    def test_each_choice_that_is_named_is_one_of_the_library(self):
        from garner import pipeline
        for name, values in pipeline._choices.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.assertEqual(len(list(nodes(batch_size=20, loading={name: value}))), 2)

    def test_what_is_right_is_taken(self):
        for make, how in ((nodes, {"replace": True, "weight_attr": "w"}),
                          (nodes, {"replace": 1, "disjoint": np.True_}), (nodes, {"device": torch.device("cpu")}), (nodes, {"device": "simulated:0"}),
                          (nodes, {"loading": {"cache": "pinned", "window_bytes": "1MiB"}}), (nodes, {"feature_cache": "1MiB", "reserve": 0}),
                          (nodes, {"sampler": range(7)}), (nodes, {"generator": torch.Generator()}), (nodes, {"input_nodes": []}),
                          (links, {"neg_sampling_ratio": 0.0, "neg_sampling": "binary"}),
                          (links, {"neg_sampling": {"mode": "binary", "src_weight": [1.0] * 40}}),
                          (plain, {"replace": 1, "drop_last": np.False_})):
            with self.subTest(**how):
                next(iter(make(**how)), None)


if __name__ == "__main__":
    unittest.main()
