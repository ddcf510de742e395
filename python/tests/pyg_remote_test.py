"""garner.pyg over rows that are split over ranks: mini-batches are those of rows at home."""
import itertools
import unittest

import garner

try:
    import torch
    import garner.torch
    import several_ranks
    from torch_geometric.data import Data, HeteroData
    from garner.pyg import FeatureStore, GraphStore, LinkNeighborLoader, NeighborLoader
except ImportError:
    torch = None

nodes, edges = 300, 2500


def between(sources, targets, count, seed):
    made = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(sources, (count,), generator=made), torch.randint(targets, (count,), generator=made)])


def rows_of(count, seed=1):
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))


def split(rows, rank, ranks):
    return garner.torch.remote_rows(rows[len(rows) * rank // ranks:len(rows) * (rank + 1) // ranks])


def content(batch):
    return {str((k, key)): value for k, store in enumerate(batch.stores) for key, value in store.items()}


def alike(one, other):
    """Each mini-batch of two loaders, of two epochs; and where somebody stops in the middle."""
    for stop in (None, 2, None):
        batches = []
        for loader in (one, other):
            torch.manual_seed(5)
            batches.append([content(batch) for batch in itertools.islice(loader, stop)])
        assert len(batches[0]) == (stop or len(one)) == (stop or len(other))
        for a, b in zip(*batches, strict=True):
            assert a.keys() == b.keys(), (a.keys(), b.keys())
            for key in a:
                same = torch.equal(a[key], b[key]) if isinstance(a[key], torch.Tensor) else a[key] == b[key]
                assert same, (key, a[key], b[key])


def tenfold(batch):
    batch.x = batch.x * 10
    return batch


def homogeneous(rank, said):
    x, seeds = rows_of(nodes), torch.arange(nodes)[rank::said["of"]]
    kinds = {"y": torch.arange(nodes), "edge_index": between(nodes - 7, nodes - 7, edges, 2), "edge_attr": torch.arange(edges)}  # the last have no edges
    remote = split(x, rank, said["of"])
    for options in ({}, {"shuffle": True, "loading": {"window": 3}}, {"transform": tenfold, "disjoint": True}, {"subgraph_type": "induced"}):
        made = {"num_neighbors": [4, 3], "input_nodes": seeds, "batch_size": 16, **options}
        data = Data(x=remote, **kinds)
        alike(NeighborLoader(Data(x=x, **kinds), **made), NeighborLoader(data, **made))
        assert data.x is remote and "num_nodes" not in data
    return remote.report["windows"]


def other_data(rank, said):
    papers, authors = rows_of(nodes), rows_of(200, 3)
    seeds = torch.arange(nodes)[rank::said["of"]]
    remote = [split(rows, rank, said["of"]) for rows in (papers, authors)]
    data = []
    for of_papers, of_authors in ((papers, authors), remote):
        one = HeteroData()
        one["paper"].x, one["author"].x, one["paper"].y = of_papers, of_authors, torch.arange(nodes)
        one["paper", "cites", "paper"].edge_index = between(nodes, nodes, edges, 4)
        one["author", "writes", "paper"].edge_index = between(200, nodes, edges, 5)
        data.append(one)
    made = {"num_neighbors": [4, 3], "batch_size": 20, "shuffle": True}
    alike(*(NeighborLoader(one, input_nodes=("paper", seeds), **made) for one in data))

    stores = []
    for rows in (papers, remote[0]):
        features, graph = FeatureStore(), GraphStore()
        features.put_tensor(rows, group_name=None, attr_name="x", index=None)
        features.put_tensor(torch.arange(nodes), group_name=None, attr_name="y", index=None)
        graph.put_edge_index(between(nodes, nodes, edges, 4), edge_type=None, layout="coo", size=(nodes, nodes))
        stores.append((features, graph))
    alike(*(NeighborLoader(one, input_nodes=seeds, **made) for one in stores))

    ends = between(nodes, nodes, 100, 6 + rank)
    alike(*(LinkNeighborLoader(Data(x=rows, edge_index=between(nodes, nodes, edges, 4)), edge_label_index=ends, neg_sampling="binary", **made)
            for rows in (papers, remote[0])))
    return True


def split_graph(rank, said):
    """A graph that is split too, in stores: as the whole one."""
    whole, n = garner.generate("kron", 8, random_weights=(0, 3)), 256
    remote, rows = garner.torch.remote_graph(whole, weighted=True), rows_of(n)
    x = split(rows, rank, said["of"])
    seeds = torch.arange(n)[rank::said["of"]][:80]
    data = []
    for graph, table in ((whole, rows), (remote, rows), (remote, x)):
        features, edges = FeatureStore(), GraphStore()
        features.put_tensor(table, group_name=None, attr_name="x", index=None)
        features.put_tensor(torch.arange(n), group_name=None, attr_name="y", index=None)
        edges.put_graph(graph)
        data.append((features, edges))
    for options in ({"shuffle": True}, {"weight_attr": "weight", "loading": {"window": 3}}, {"replace": True, "transform": tenfold, "drop_last": True},
                    {"subgraph_type": "bidirectional", "transform_sampler_output": lambda out: out}):
        made = {"num_neighbors": [4, 3], "input_nodes": seeds, "batch_size": 16, **options}
        for one in data[1:]:
            alike(NeighborLoader(data[0], **made), NeighborLoader(one, **made))
    assert remote.report["windows"] and x.report["windows"]
    ends = between(n, n, 60, 6 + rank)
    alike(*(LinkNeighborLoader(one, [4, 3], edge_label_index=(None, ends), batch_size=20) for one in (data[0], data[2])))
    found = []
    for options in ({"disjoint": True}, {"num_workers": 1}, {"loading": {"window": 65}}, {"loading": {"window": 4, "cache": "pinned"}}):
        try:
            next(iter(NeighborLoader(data[1], [3], input_nodes=seeds, **options)))
        except garner.UsageError as e:
            found.append(str(e))
    return found


def wrong(rank, said):
    found = {}

    def tried(name, call):
        try:
            call()
        except garner.Error as e:
            found[name] = f"{type(e).__name__}: {e}"
    x = split(rows_of(nodes), rank, said["of"])
    edge_index = between(nodes, nodes, edges, 2)
    tried("workers", lambda: NeighborLoader(Data(x=x, edge_index=edge_index), [3], num_workers=1))
    tried("few", lambda: NeighborLoader(Data(x=x, edge_index=edge_index, num_nodes=nodes + 1), [3]))
    tried("n_id", lambda: NeighborLoader(Data(x=x, edge_index=edge_index, n_id=torch.arange(nodes)), [3]))
    tried("counts", lambda: next(iter(NeighborLoader(Data(x=x, edge_index=edge_index), [3], input_nodes=torch.arange(40 + rank * 40), batch_size=20))))
    features, split_edges = FeatureStore(), GraphStore()
    split_edges.put_graph(garner.torch.remote_graph(garner.generate("kron", 8)))
    tried("links", lambda: next(iter(LinkNeighborLoader((FeatureStore(), split_edges), [3], edge_label_index=(None, between(256, 256, 40 + 40 * rank, 3)), batch_size=20))))
    tried("edges", lambda: features.put_tensor(x, group_name=("a", "to", "b"), attr_name="w", index=None))
    return found


@unittest.skipIf(torch is None, "needs torch and PyG (torch_geometric)")
class Remote(unittest.TestCase):
    def test_data(self):
        for ranks in (1, 2, 3):
            self.assertTrue(all(several_ranks.told(several_ranks.run(__file__, "homogeneous", ranks, of=ranks))))

    def test_several_types_stores_and_links(self):
        several_ranks.told(several_ranks.run(__file__, "other_data", 2, of=2))

    def test_a_graph_that_is_split(self):
        for ranks in (1, 3):
            for found in several_ranks.told(several_ranks.run(__file__, "split_graph", ranks, of=ranks)):
                self.assertIn("disjoint trees: not over a graph that is split", found[0])
                self.assertRegex(found[1], r"num_workers=\d+; rows and adjacency of other ranks")
                self.assertIn("a window of 65 mini-batches; use 1 to 64", found[2])
                self.assertIn("loading: 'cache' is not over a graph that is split; use window alone", found[3])

    def test_what_is_wrong_is_said(self):
        for found in several_ranks.told(several_ranks.run(__file__, "wrong", 3, of=3)):
            self.assertRegex(found["workers"], r"num_workers=\d+; rows and adjacency of other ranks come to this process")
            self.assertIn("x: 300 rows for 301 nodes", found["few"])
            self.assertIn("UsageError: n_id", found["n_id"])
            self.assertRegex(found["counts"], r"RankError: loader: .* mini-batches in windows of 8; give all ranks as many input nodes")
            self.assertRegex(found["links"], r"RankError: loader: .* mini-batches in windows of 8; give all ranks as many edges to learn from")
            self.assertIn("those of nodes", found["edges"])


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
