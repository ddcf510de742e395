"""What a notebook shows of graphs, tables and loaders."""
import unittest

import numpy as np

import garner

try:
    import torch
except ImportError:
    torch = None


class Notebook(unittest.TestCase):
    def test_graphs_and_tables_are_small_tables(self):
        g = garner.build([0, 1, 1], [1, 2, 0], [1, 2, 3])
        for word in ("<table>", "<th style='text-align:left'>nodes</th><td style='text-align:left'>3</td>", "directed", "u32", "whole numbers"):
            self.assertIn(word, g._repr_html_())
        big = garner.generate("kron", 10)
        self.assertIn(f">{big.info.num_edges:,}<", big._repr_html_())
        self.assertIn("num_nodes=3", repr(g.info))
        self.assertIn("edges_read=3", repr(g.report))
        g.names = np.array(["<a>", "b", "c"], object)
        self.assertIn("names", g._repr_html_())
        shown = garner.tiered(np.ones((4096, 3), "float32"))._repr_html_()
        for word in (">4,096<", ">(3,)<", ">float32<", "host"):
            self.assertIn(word, shown)

    @unittest.skipIf(torch is None, "needs torch")
    def test_loaders(self):
        loader = garner.torch.loader(garner.generate("kron", 8), [2], x=np.ones((256, 3), "float32"), batch_size=100, shuffle=True)
        self.assertEqual(repr(loader), "<garner.torch.Loader mini-batches=3, seeds=256, batch_size=100, shuffle=True, device=cpu, epoch=0>")
        self.assertIn("<caption style='text-align:left'>garner.torch.loader</caption>", loader._repr_html_())


if __name__ == "__main__":
    unittest.main()
