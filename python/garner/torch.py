"""What needs torch: ids and rows as its tensors, on the stream that it works on. import garner does not import torch; this does."""
import torch

from . import tables
from .errors import UsageError

_whole = {torch.int32, torch.int64} | ({torch.uint64} if hasattr(torch, "uint64") else set())  # uint32 is widened, as in tables.py


class _Torch:
    def ids(self, ids, rows):
        ids = torch.as_tensor(ids)
        if ids.dtype == torch.bool:
            if tuple(ids.shape) != (rows,):
                raise UsageError(f"a mask of shape {tuple(ids.shape)} for {rows} rows; give one bool a row")
            return ids.nonzero().flatten()
        if ids.dtype not in _whole:
            if ids.numel() and (ids.dtype.is_floating_point or ids.dtype.is_complex):
                raise UsageError(f"ids of {ids.dtype}; give whole numbers or bools")
            ids = ids.to(torch.int64)
        return ids.contiguous()

    def row_type(self, kind):
        found = getattr(torch, kind, None)
        if found is None:
            raise UsageError(f"torch has no {kind}; give ids as a NumPy array")
        return found

    def wait(self, device):
        if device >= 0 and torch.cuda.is_available():
            torch.cuda.current_stream(device).synchronize()

    def whole(self, out):
        return isinstance(out, torch.Tensor) and out.is_contiguous() and not out.requires_grad

    def bring(self, device, ids, outs, shapes, kind):
        """Ids and rows where the table gathers; the stream; and what brings the rows to the device of ids."""
        for i, out in zip(ids, outs):
            if out is not None and out.device != i.device:
                raise UsageError(f"out lies on {out.device}, ids on {i.device}; give both on one")
        if device >= 0 and not torch.cuda.is_available():  # a torch of the CPU beside a Garner of the GPU: as NumPy's arrays
            rows = [torch.empty(shape, dtype=self.row_type(kind)) if out is None else out for out, shape in zip(outs, shapes)]
            bytes_of = [[t.reshape(-1).view(torch.uint8).numpy() for t in some] for some in (ids, rows)]
            at, to, stream, done = tables._numpy.bring(device, bytes_of[0], bytes_of[1], shapes, kind)
            return at, to, stream, lambda: (done(), rows)[1]
        place = torch.device("cpu") if device < 0 else torch.device("cuda", device)
        stream = 0
        if device >= 0:
            stream = torch.cuda.current_stream(place).cuda_stream or 1  # 1: the default stream by name; 0 would be the table's own
        near = [i.to(place) for i in ids]
        rows = [torch.empty(shape, dtype=self.row_type(kind), device=place) if out is None or out.device != place else out
                for out, shape in zip(outs, shapes)]

        def done(near=near):
            near.clear()  # until here the gather may read them
            return [(row if row.device == i.device else row.to(i.device)) if out is None else out if out is row else out.copy_(row)
                    for row, i, out in zip(rows, ids, outs)]

        return [i.data_ptr() for i in near], [row.data_ptr() for row in rows], stream, done


library = _Torch()


def unified(tensor, device=None):
    """garner.unified as a torch tensor: of the device, its bytes in host memory. Errors: as garner.unified.

        features = garner.torch.unified(features)       # Listing 3.1 of the dissertation: features[ids] on the GPU reads host memory
    """
    return torch.from_dlpack(tables.unified(tensor, device))


__all__ = ["unified"]
