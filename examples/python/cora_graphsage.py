"""GraphSAGE (mean) on Cora in plain PyTorch, with mini-batches and a small neighbor sampler: before and after the two lines of Garner.

    python3 cora_graphsage.py FOLDER              # the features are a tensor
    python3 cora_graphsage.py FOLDER --garner     # the features are a tiered table; all else stays, also the accuracy
    python3 cora_graphsage.py FOLDER --garner --feature-cache 1MiB

FOLDER holds cora.edges.txt ("u v", each edge once), cora.split.txt ("vertex label train|val|test|none") and cora.svm or cora.svm.zst
("label index:value ...", one line per vertex). With a GPU, model and ids are in its memory; the features stay in host memory.
"""
import argparse
import pathlib
import subprocess

import torch
import torch.nn.functional as F


def read_cora(folder):
    folder = pathlib.Path(folder)
    split = [line.split() for line in (folder / "cora.split.txt").read_text().splitlines()]
    labels = torch.tensor([int(label) for _, label, _ in split])
    sets = {name: torch.tensor([int(v) for v, _, part in split if part == name]) for name in ("train", "val", "test")}
    plain = folder / "cora.svm"
    text = plain.read_text() if plain.exists() else subprocess.run(["zstd", "-dc", folder / "cora.svm.zst"], check=True,
                                                                   capture_output=True, text=True).stdout
    features = torch.zeros(len(split), 1433)
    for vertex, line in enumerate(text.splitlines()):
        for pair in line.split()[1:]:
            index, value = pair.split(":")
            features[vertex, int(index)] = float(value)
    features /= features.sum(dim=1, keepdim=True).clamp(min=1)
    edges = torch.tensor([[int(v) for v in line.split()] for line in (folder / "cora.edges.txt").read_text().splitlines()])
    return features, labels, sets, edges


class Sampler:
    """Up to `fanout` neighbours a vertex and hop, each drawn uniformly with replacement; a vertex without neighbours is its own."""

    def __init__(self, edges, vertices, seed):
        both = torch.cat([edges, edges.flip(1)])
        both = both[both[:, 0].argsort(stable=True)]
        self.targets = both[:, 1].contiguous()
        self.degree = torch.bincount(both[:, 0], minlength=vertices)
        self.begin = self.degree.cumsum(0) - self.degree
        self.random = torch.Generator().manual_seed(seed)

    def neighbours(self, vertices, fanout):
        """Shape (vertices, fanout)."""
        degree = self.degree[vertices].unsqueeze(1)
        draw = (torch.rand(len(vertices), fanout, generator=self.random) * degree).long()
        alone = degree == 0
        at = torch.where(alone, 0, self.begin[vertices].unsqueeze(1) + draw)
        return torch.where(alone, vertices.unsqueeze(1), self.targets[at])

    def batch(self, roots, fanouts):
        """The vertices whose features are read, each once, and for every hop where in the one before its vertices and neighbours stand."""
        layers, seen = [], roots
        for fanout in fanouts:
            around = self.neighbours(seen, fanout)
            wider, where = torch.unique(torch.cat([seen, around.flatten()]), return_inverse=True)
            layers.append((where[:len(seen)], where[len(seen):].view(around.shape)))
            seen = wider
        return seen, layers[::-1]


class GraphSage(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.own = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.around = torch.nn.ModuleList(torch.nn.Linear(a, b, bias=False) for a, b in zip(widths, widths[1:]))

    def forward(self, x, layers):
        for k, (own, around) in enumerate(layers):
            x = F.dropout(x, 0.5, self.training)
            x = self.own[k](x[own]) + self.around[k](x[around].mean(dim=1))
            if k + 1 < len(layers):
                x = F.relu(x)
        return x


def train(features, labels, sets, edges, device, epochs=30, batch=32, fanouts=(10, 10), hidden=64, seed=1):
    """Trains; the accuracy on the test set of the epoch that was best on the validation set."""
    torch.manual_seed(seed)
    # A tensor is indexed in host memory and its rows are copied; a tiered table takes ids on the model's device.
    near = device if hasattr(features, "tiers") else "cpu"
    sampler = Sampler(edges, len(labels), seed)
    model = GraphSage([features.shape[1], hidden, int(labels.max()) + 1]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def answer(roots):
        ids, layers = sampler.batch(roots, fanouts)
        x = features[ids.to(near)].to(device)
        return model(x, [(own.to(device), around.to(device)) for own, around in layers])

    def accuracy(roots):
        model.eval()
        with torch.no_grad():
            return (answer(roots).argmax(dim=1).cpu() == labels[roots]).float().mean().item()

    best = (0.0, 0.0)
    for _ in range(epochs):
        model.train()
        order = sets["train"][torch.randperm(len(sets["train"]))]
        for roots in order.split(batch):
            optimizer.zero_grad()
            F.cross_entropy(answer(roots), labels[roots].to(device)).backward()
            optimizer.step()
        best = max(best, (accuracy(sets["val"]), accuracy(sets["test"])))
    return best[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--garner", action="store_true", help="the features are a tiered table")
    parser.add_argument("--feature-cache", help="bytes of features kept on the device, as 1MiB")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=30)
    a = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    features, labels, sets, edges = read_cora(a.folder)

    if a.garner:
        import garner                                                           # the first of the two lines
        features = garner.tiered(features, feature_cache=a.feature_cache)       # the second; features[ids] is as before
        print(features)

    found = [train(features, labels, sets, edges, device, a.epochs, seed=seed) for seed in range(a.seeds)]
    print("test accuracy", " ".join(f"{100 * one:.1f}" for one in found), "%, mean", f"{100 * sum(found) / len(found):.1f} %")


if __name__ == "__main__":
    main()
