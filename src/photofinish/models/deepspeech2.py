"""Deep Speech 2: Amodei et al. 2015 (arXiv 1512.02595), as TensorFlow's official models had it (research/deep_speech).

A spectrogram of 20 ms windows, one every 10 ms (100 frames make a second), with 161 bins, as an image of one channel:
time runs down, frequency across. Two convolutions, each followed by ReLU6 and then its normalisation, leave a quarter
of the frames; five bidirectional GRUs read them, with the reset gate in front of the product, each but the first
normalised before. The letters are a blank, 26 letters, the apostrophe and the space. Every recording counts as long
as its input: nothing is packed or masked; a transcript has at most one letter for two positions.
"""

from photofinish import models
from photofinish.graph import Tensor, loss
from photofinish.layers import CTC, Spec
from photofinish.optimizers import Adam
from photofinish.vocabulary import batch_norm, block, conv, gru, linear, relu6, rows_to_sequence


def norm(x: Tensor) -> Tensor:
    return batch_norm(x, epsilon=1e-5, momentum=0.997)


@block
def listen(x: Tensor, features: int, normalised: bool) -> Tensor:
    return gru(norm(x) if normalised else x, features, bidirectional=True, reset_after=False)


@models.model(inputs=(("spectrogram", Spec("CHW", (1, 400, 161))),), classes=None, objective=None,
       task="speech recognition", unit="seconds of audio", unit_axis="H", unit_size=0.01, source="arXiv 1512.02595",
       optimizer=Adam(learning_rate=3e-5),  # the source's 5e-4 for 128 recordings, scaled to a batch of 8
       reduced={"channels": 4, "features": 6, "layers": 2, "shape": (1, 32, 9)})
def deepspeech2(spectrogram: Tensor, channels: int = 32, features: int = 800, layers: int = 5,
                letters: int = 29) -> Tensor:
    """Logits (T, letters), 0 the blank, and their loss against a transcript of up to T / 2 letters."""
    x = norm(relu6(conv(spectrogram, channels, (41, 11), stride=2)))
    x = norm(relu6(conv(x, channels, (21, 11), stride=(2, 1))))
    x = rows_to_sequence(x)
    for position in range(layers):
        x = listen(x, features, normalised=position > 0)
    logits = linear(norm(x), letters)
    loss(CTC(), logits, "transcript", Spec("L", (max(1, logits.spec.size("T") // 2),), "int32"))
    return logits
