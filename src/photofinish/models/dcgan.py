"""DCGAN: Radford et al. 2015, "Unsupervised Representation Learning with Deep Convolutional Generative Adversarial
Networks" (arXiv 1511.06434), as pytorch/examples builds it for images of 64x64: half as wide as the paper's figure 1.

The two adversaries are raced as two models, each with an objective of its own, because a step that trains one
against the other is two graphs and two optimizers:

* the discriminator with its own: the cross entropy of real or generated, of images that are given, both kinds in one
  batch (pytorch/examples passes, and normalises, each kind by itself);
* the generator as the decoder of a variational autoencoder (Kingma & Welling 2013, arXiv 1312.6114): the cross entropy
  of each pixel of its image with one of an image that is given. That this is not its adversary's objective changes
  the gradient that enters at its output, and nothing that is computed from there on.
"""

from typing import Any

from photofinish import models
from photofinish.graph import Tensor, loss
from photofinish.layers import BinaryCrossEntropy, Spec
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    batch_norm,
    conv,
    conv_transpose,
    flatten,
    leaky_relu,
    relu,
    scale,
    tanh,
    training_only,
)

FACTS: Any = {"classes": None, "objective": None, "task": "image generation", "batch": 128,
              "source": "arXiv 1511.06434", "optimizer": Adam(learning_rate=2e-4, beta1=0.5)}


@models.model("dcgan_64_generator", inputs=(("noise", Spec("CHW", (100, 1, 1))),),
       reduced={"width": 6, "shape": (16, 1, 1)}, **FACTS)
def generator(noise: Tensor, width: int = 64, colours: int = 3) -> Tensor:
    """From noise to an image with values in -1 to 1. Its pixels as brightness, (1 + tanh x) / 2, are sigmoid 2x."""
    x = relu(batch_norm(conv_transpose(noise, 8 * width, 4)))
    for wide in (4, 2, 1):
        x = relu(batch_norm(conv_transpose(x, wide * width, 4, stride=2, padding=1)))
    x = conv_transpose(x, colours, 4, stride=2, padding=1)
    with training_only():
        loss(BinaryCrossEntropy(), scale(x, 2.0), "image", Spec("CHW", x.shape))
    return tanh(x)


@models.model("dcgan_64_discriminator", inputs=models.image(3, 64, 64), reduced={"width": 8},
       **dict(FACTS, objective=BinaryCrossEntropy()))
def discriminator(image: Tensor, width: int = 64) -> Tensor:
    """From an image to the logit that it is real."""
    x = leaky_relu(conv(image, width, 4, stride=2, padding=1), 0.2)
    for wide in (2, 4, 8):
        x = leaky_relu(batch_norm(conv(x, wide * width, 4, stride=2, padding=1)), 0.2)
    return flatten(conv(x, 1, 4, padding=0))
