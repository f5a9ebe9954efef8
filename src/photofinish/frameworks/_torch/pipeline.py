"""PyTorch's input pipeline: a DataLoader over tensors in memory, in this process."""

from typing import Any, Dict, Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


class Pipeline:
    """Samples are collated one by one, as a DataLoader does, and brought to the device in the contender's layout."""

    def __init__(self, contestant: Any, samples: Dict[str, np.ndarray], batch: int, seed: int) -> None:
        inputs, labels = samples.values()
        generator = torch.Generator().manual_seed(seed)
        self.contestant = contestant
        self.loader = DataLoader(TensorDataset(torch.from_numpy(inputs), torch.from_numpy(labels).long()), batch,
                                 shuffle=True, generator=generator)
        self.step = contestant.train_step
        self.layout = {"memory_format": torch.channels_last} if contestant.layout == "channels_last" else {}

    def batches(self) -> Iterator[Any]:
        device = self.contestant.device
        for image, label in self.loader:
            image = image.to(device, self.contestant.dtype, **self.layout)
            yield image, label.to(device)
