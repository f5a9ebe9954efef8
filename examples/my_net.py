"""A model of your own. Race it with: photofinish race examples/my_net.py:model

Write it in the zoo's vocabulary, as a plain function; every framework builds it from that. The
decorator is optional: without it the input is 3x224x224 and the batch 8.
"""

from photofinish import models
from photofinish.optimizers import Adam
from photofinish.vocabulary import batch_norm, block, conv, dropout, global_average_pool, linear, relu


@block
def residual(x):
    y = relu(batch_norm(conv(x, x.channels, 3)))
    y = batch_norm(conv(y, x.channels, 3))
    return relu(x + y)


@models.model(inputs=models.image(3, 32, 32), classes=10, batch=16, optimizer=Adam(), reduced={"width": 8})
def model(image, classes, width=32):
    x = relu(batch_norm(conv(image, width, 3)))
    x = residual(x)
    x = relu(batch_norm(conv(x, 2 * width, 3, stride=2)))
    x = residual(x)
    return linear(dropout(global_average_pool(x), 0.2), classes)
