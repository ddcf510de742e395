"""What tests of garner.pyg's loaders share: small data, and what a mini-batch of them says."""
import unittest
import warnings

try:
    import torch
    from torch_geometric.data import Data, HeteroData
    from garner.pyg import NeighborLoader
except ImportError:
    torch = Data = HeteroData = NeighborLoader = None


def edges_between(sources, targets, count):
    return torch.stack([torch.randint(sources, (count,)), torch.randint(targets, (count,))])


def pairs(edge_index):
    return set(map(tuple, edge_index.t().tolist()))


def homogeneous(nodes=100, edges=500):
    return Data(x=torch.arange(nodes), edge_index=edges_between(nodes, nodes, edges), edge_attr=torch.arange(edges))


def bibliography():
    data = HeteroData()
    data["paper"].x, data["author"].x = torch.arange(100), torch.arange(100, 300)
    data["paper", "paper"].edge_index, data["paper", "paper"].edge_attr = edges_between(100, 100, 500), torch.arange(500)
    data["paper", "author"].edge_index, data["paper", "author"].edge_attr = edges_between(100, 200, 1000), torch.arange(500, 1500)
    data["author", "paper"].edge_index, data["author", "paper"].edge_attr = edges_between(200, 100, 1000), torch.arange(1500, 2500)
    return data


def content(batch):
    """All that a mini-batch says, comparable."""
    return {key: value.tolist() if isinstance(value, torch.Tensor) else value for key, value in
            ((str((i, key)), value) for i, store in enumerate(batch.stores) for key, value in store.items())}


@unittest.skipIf(torch is None, "needs torch and PyG (torch_geometric)")
class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(12345)
        warnings.simplefilter("error")  # none of pyg-lib's, none of ours
        self.addCleanup(warnings.resetwarnings)

    def mapped(self, batch, data):
        """Edges of the mini-batch are those of the data that e_id names."""
        for edge_type in getattr(batch, "edge_types", [None]):
            part, whole = (batch, data) if edge_type is None else (batch[edge_type], data[edge_type])
            source, target = (batch, batch) if edge_type is None else (batch[edge_type[0]], batch[edge_type[-1]])
            ends = torch.stack([source.n_id[part.edge_index[0]], target.n_id[part.edge_index[1]]])
            self.assertTrue(torch.equal(ends, whole.edge_index[:, part.e_id].to(torch.int64)))

    def epoch(self, data, seed=3, **how):
        torch.manual_seed(seed)
        return list(NeighborLoader(data, [3, 3], batch_size=20, **how))

    def stores(self, features, graph):
        features, graph, data = features(), graph(), HeteroData()
        for t, x in (("paper", torch.arange(100)), ("author", torch.arange(100, 300))):
            data[t].x = x
            features.put_tensor(x, group_name=t, attr_name="x", index=None)
        for t, layout in ((("paper", "to", "paper"), "coo"), (("paper", "to", "author"), "csr"), (("author", "to", "paper"), "csc"),
                          (("author", "to", "author"), "sorted")):
            sizes = data[t[0]].num_nodes, data[t[2]].num_nodes
            edge_index = edges_between(*sizes, 600)
            by = {"coo": torch.arange(600), "csr": edge_index[0].argsort(stable=True)}.get(layout, edge_index[1].argsort(stable=True))
            edge_index = edge_index[:, by]
            data[t].edge_index = edge_index
            if isinstance(graph, HeteroData):  # whose other layouts need torch-sparse
                layout = "sorted" if layout == "csc" else "coo" if layout == "csr" else layout
            ends = [edge_index[0], edge_index[1]]
            if layout in ("csr", "csc"):
                end = 0 if layout == "csr" else 1
                ends[end] = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(ends[end], minlength=sizes[end]).cumsum(0)])
            graph.put_edge_index(tuple(ends), edge_type=t, layout="coo" if layout == "sorted" else layout, size=sizes, is_sorted=layout == "sorted")
        return features, graph, data
