"""A small convolutional network for 8x8 digits: the model for proofs and first races that must be quick."""

from photofinish import models
from photofinish.graph import Tensor
from photofinish.vocabulary import batch_norm, conv, flatten, linear, max_pool, relu


@models.model(inputs=models.image(1, 8, 8), classes=10, batch=32,
       source="scikit-learn's digits: Alpaydin & Kaynak 1998, UCI Optical Recognition of Handwritten Digits",
       reduced={"width": 8}, preparation=models.Preparation(1.0, (0.0,), (1.0,), "L"))
def digits_cnn(image: Tensor, classes: int, width: int = 32) -> Tensor:
    x = relu(batch_norm(conv(image, width, 3)))
    x = relu(batch_norm(conv(x, width, 3)))
    x = max_pool(x, 2)
    x = relu(batch_norm(conv(x, 2 * width, 3)))
    x = max_pool(x, 2)
    return linear(flatten(x), classes)
