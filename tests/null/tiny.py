"""The smallest model with everything a race touches: a convolution, a BatchNorm, a linear layer."""

from photofinish.models import image, model
from photofinish.vocabulary import batch_norm, conv, global_average_pool, linear, relu


@model("tiny", inputs=image(3, 6, 6), classes=4)
def tiny(x, classes):  # type: ignore[no-untyped-def]
    return linear(global_average_pool(relu(batch_norm(conv(x, 4, 3)))), classes)
