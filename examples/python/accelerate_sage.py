"""GraphSAGE with accelerate, which prepares model and optimizer; the loader splits its input nodes itself.

    accelerate launch --num_processes 2 accelerate_sage.py        # --cpu without GPUs; torchrun does too
"""
import sys

import accelerate
import torch
import torch.nn.functional as F
import torch_geometric

import garner
from garner.pyg import NeighborLoader

accelerator = accelerate.Accelerator(cpu=not torch.cuda.is_available())
name, data = (sys.argv[1:] or ["accelerate-sage"])[0], None
if accelerator.is_local_main_process:
    y = torch.arange(4000) % 4
    edges = torch.randint(1000, (2, 32000)) * 4 + torch.randint(4, (32000,))     # within a class
    data = torch_geometric.data.Data(x=F.one_hot(y).float() + torch.randn(4000, 4), y=y, edge_index=edges, train_mask=torch.arange(4000) % 8 < 4)
    data = garner.shared(name, data, replace_stale=True)
accelerator.wait_for_everyone()
data = garner.shared(name) if data is None else data
loader = NeighborLoader(data, [10, 5], data.train_mask, batch_size=128, shuffle=True, ranks="torchrun")   # not to accelerator.prepare()

model = torch_geometric.nn.GraphSAGE(4, 32, num_layers=2, out_channels=4)
model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.01))
for epoch in range(3):
    for batch in loader:
        batch = batch.to(accelerator.device)
        loss = F.cross_entropy(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size])
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    mean = accelerator.gather(loss.detach()).mean()
    accelerator.print(f"epoch {epoch}: loss {mean:.3f}, {len(loader)} mini-batches a rank", flush=True)
accelerator.end_training()
