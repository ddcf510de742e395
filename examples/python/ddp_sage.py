"""GraphSAGE by DistributedDataParallel: PyG's distributed_sampling.py, with one copy of the data per machine.

    torchrun --nproc-per-node 2 ddp_sage.py                       # one rank per GPU, or CPU ranks without GPUs
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_geometric
from torch.nn.parallel import DistributedDataParallel

import garner
from garner.pyg import NeighborLoader


def made(nodes=4000, classes=4):
    y = torch.arange(nodes) % classes
    source = torch.arange(nodes).repeat(8)
    target = torch.where(torch.rand(len(source)) < 0.8, (source + classes * torch.randint(1, 99, source.shape)) % nodes, torch.randint(nodes, source.shape))
    x = F.one_hot(y).float() + torch.randn(nodes, classes)
    return torch_geometric.data.Data(x=x, y=y, edge_index=torch.stack([source, target]), train_mask=torch.arange(nodes) % 8 < 4)


gpu = torch.cuda.is_available() and len(garner.info()["devices"]) > 0
dist.init_process_group("nccl" if gpu else "gloo")
rank, local, ranks, name = dist.get_rank(), int(os.environ["LOCAL_RANK"]), dist.get_world_size(), (sys.argv[1:] or ["ddp-sage"])[0]
device = torch.device("cuda", local) if gpu else torch.device("cpu")
if gpu:
    torch.cuda.set_device(device)
data = garner.shared(name, made(), replace_stale=True) if local == 0 else None  # tensors and adjacency, one copy per machine
dist.barrier()
data = garner.shared(name) if data is None else data
train = data.train_mask.nonzero().flatten()
train = train.split(-(-len(train) // ranks))[rank]                              # or all of them, with ranks="torchrun"
loader = NeighborLoader(data, num_neighbors=[10, 5], input_nodes=train, batch_size=128, shuffle=True)

torch.manual_seed(1)
model = torch_geometric.nn.GraphSAGE(4, 32, num_layers=2, out_channels=4).to(device)
model = DistributedDataParallel(model, device_ids=[local] if gpu else None)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for batch in loader:
        batch = batch.to(device)
        loss = F.cross_entropy(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.all_reduce(mean := loss.detach() / ranks)
    if rank == 0:
        print(f"epoch {epoch}: loss {mean:.3f}, {len(loader)} mini-batches a rank", flush=True)
dist.barrier()
dist.destroy_process_group()
