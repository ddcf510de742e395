"""GraphSAGE compiled by torch.compile over mini-batches of Garner, on a graph that it makes: one compilation for mini-batches of all sizes.

    python3 compile.py                            # on the current GPU where there is one
    python3 compile.py --backend aot_eager        # no compiler of C++ or of the GPU is needed
    python3 compile.py --eager                    # the same model as it is
"""
import argparse
import time

import torch
import torch_geometric

import garner
from garner.pyg import NeighborLoader, SAGEConv


class Sage(torch_geometric.nn.GraphSAGE):
    """PyG's model, with Garner's sums."""

    def init_conv(self, *channels, **options):
        return SAGEConv(*channels, **options)


def step(model, batch, optimizer):
    scores = model(batch.x, batch.edge_index, num_sampled_nodes_per_hop=batch.num_sampled_nodes, num_sampled_edges_per_hop=batch.num_sampled_edges)
    loss = torch.nn.functional.cross_entropy(scores[:batch.batch_size], batch.y[:batch.batch_size])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--scale", type=int, default=14, help="2^scale nodes")
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--backend", default="inductor")
    p.add_argument("--eager", action="store_true")
    given = p.parse_args()

    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() and garner.info()["devices"] else "cpu"
    graph = garner.generate("kron", given.scale, undirected=True)
    offsets, ends = (torch.tensor(part).long() for part in graph.csr()[:2])
    edge_index = torch.stack([torch.arange(len(graph)).repeat_interleave(offsets.diff()), ends])
    label = torch.arange(len(graph)) % 4
    x = torch.nn.functional.one_hot(label, 4).float() + torch.randn(len(graph), 4)
    data = torch_geometric.data.Data(x=x, edge_index=edge_index, y=label)
    loader = NeighborLoader(data, num_neighbors=[10, 5, 5], batch_size=given.batch, shuffle=True)

    model = Sage(4, given.hidden, num_layers=3, out_channels=4).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    called = model if given.eager else torch.compile(model, dynamic=True, backend=given.backend)
    for epoch in range(given.epochs):
        start, losses = time.perf_counter(), []
        for batch in loader:
            losses.append(step(called, batch.to(device), optimizer))
        loss = torch.stack(losses).mean().item()  # waits for the GPU
        print(f"epoch {epoch}: loss {loss:.3f}, {(time.perf_counter() - start) / len(losses) * 1e3:.1f} ms per mini-batch", flush=True)


if __name__ == "__main__":
    main()
