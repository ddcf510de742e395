"""What the tests of garner.infer run on: a graph with a hub, loops and duplicates, and rows for its nodes."""
import pathlib
import tempfile
import unittest

import numpy as np

import garner

try:
    import torch
except ImportError:
    raise unittest.SkipTest("needs torch and PyG (torch_geometric)") from None


class World(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        torch.manual_seed(1)
        rng = np.random.default_rng(1)
        self.n = 700
        edges = rng.integers(0, self.n, (2, 5000))
        edges[1, :900] = 3  # a hub
        self.edge_index = torch.from_numpy(edges)
        self.graph = garner.build(edges, num_nodes=self.n, keep_duplicates=True, keep_loops=True)
        self.x = torch.randn(self.n, 12)
