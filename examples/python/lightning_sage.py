"""GraphSAGE by Lightning on two processes: PyG's LightningNodeData and LightningLinkData, or loaders of a module of one's own.

    python3 lightning_sage.py node                                # or link, or plain
"""
import os
import sys

import lightning
import torch
import torch.nn.functional as F
import torch_geometric

import garner
from garner.pyg import LightningLinkData, LightningNodeData, NeighborLoader


class Sage(lightning.LightningModule):
    def __init__(self, kind, data):
        super().__init__()
        self.kind, self.data, self.model = kind, data, torch_geometric.nn.GraphSAGE(4, 32, num_layers=2, out_channels=4)

    def training_step(self, batch, _):
        out = self.model(batch.x, batch.edge_index)
        if self.kind == "link":
            pairs = (out[batch.edge_label_index[0]] * out[batch.edge_label_index[1]]).sum(1)
            loss = F.binary_cross_entropy_with_logits(pairs, batch.edge_label.float())
        else:
            loss = F.cross_entropy(out[:batch.batch_size], batch.y[:batch.batch_size])
        self.log("loss", loss, batch_size=128, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


class Plain(Sage):
    def train_dataloader(self):                                   # Lightning splits it among the processes
        return NeighborLoader(self.data, [10, 5], self.data.train_mask, batch_size=128, shuffle=True)


kind, name = (sys.argv[1:] + ["node", "lightning-sage"][len(sys.argv) - 1:])[:2]
if "LOCAL_RANK" in os.environ:                                    # Lightning starts the other ranks later: the file exists then
    data = garner.shared(name)
else:
    y = torch.arange(4000) % 4
    edges = torch.randint(1000, (2, 32000)) * 4 + torch.randint(4, (32000,))     # within a class
    data = torch_geometric.data.Data(x=F.one_hot(y).float() + torch.randn(4000, 4), y=y, edge_index=edges, train_mask=torch.arange(4000) % 8 < 4)
    data = garner.shared(name, data, replace_stale=True)
modules = {"node": lambda: LightningNodeData(data, num_neighbors=[10, 5], batch_size=128),
           "link": lambda: LightningLinkData(data, data.edge_index[:, :4000], neg_sampling="binary", num_neighbors=[10, 5], batch_size=128),
           "plain": lambda: None}
trainer = lightning.Trainer(accelerator="auto" if torch.cuda.device_count() > 1 else "cpu", devices=2, strategy="ddp", max_epochs=3, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit((Plain if kind == "plain" else Sage)(kind, data), datamodule=modules[kind]())
print(f"rank {trainer.global_rank}: {trainer.num_training_batches} mini-batches, loss {trainer.callback_metrics['loss']:.3f}", flush=True)
