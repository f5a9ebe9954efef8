"""PyTorch's input pipeline: a DataLoader over tensors in memory, in this process or in workers of its own."""

from typing import Any, Dict, Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


class Pipeline:
    """Samples are collated one by one, as a DataLoader does, and brought to the device in the contender's layout: to a
    GPU from pinned memory, so that no copy waits for the step before it, as PyTorch's documentation has it.

    `workers` processes collate them, kept from epoch to epoch; none: this one does.
    """

    def __init__(self, contestant: Any, samples: Dict[str, np.ndarray], batch: int, seed: int,
                 workers: str = "0") -> None:
        generator = torch.Generator().manual_seed(seed)
        tensors = [torch.from_numpy(values if values.dtype.kind == "f" else values.astype(np.int64))
                   for values in samples.values()]
        self.contestant = contestant
        self.loader = DataLoader(TensorDataset(*tensors), batch, shuffle=True, generator=generator,
                                 num_workers=int(workers), persistent_workers=int(workers) > 0,
                                 pin_memory=contestant.device.type == "cuda")
        self.step = contestant.train_step
        self.floats = {"dtype": contestant.dtype}
        if tensors[0].dim() == 4 and contestant.layout == "channels_last":
            self.floats["memory_format"] = torch.channels_last

    def batches(self) -> Iterator[Any]:
        device = self.contestant.device
        for given, label in self.loader:
            given = given.to(device, non_blocking=True, **self.floats if given.is_floating_point() else {})
            yield given, label.to(device, non_blocking=True)
