"""DLRM: Naumov et al. 2019, "Deep Learning Recommendation Model" (arXiv 1906.00091).

dlrm_small is the paper's random benchmark (dlrm_s_benchmark.sh in its repository): 512 continuous features, 8
categorical ones of 100 ids each, vectors of 64. Its tables have 10,000 rows each instead of a million, because
gradients of tables are dense here and an update would be all that is timed: the paper's updates only the rows that
were looked up. A bag has 100 ids, drawn by Zipf's law, where the script draws up to 100 (about 50, evenly, each once),
and the loss is the cross entropy of clicks, where the script's default is the squared error of targets between 0
and 1; its continuous features are even between 0 and 1, these are normal.
"""

from typing import Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.layers import BinaryCrossEntropy, Spec
from photofinish.optimizers import SGD
from photofinish.vocabulary import concat, embedding_bag, linear, pairwise_dots, relu, scope, stack

TABLES, IDS = 8, 100


def perceptron(x: Tensor, widths: Tuple[int, ...]) -> Tensor:
    for width in widths:
        x = relu(linear(x, width))
    return x


@models.model("dlrm_small", classes=None, objective=BinaryCrossEntropy(), task="recommendation", unit="samples",
       inputs=(("dense", Spec("C", (512,))),) + tuple(
           ("sparse{}".format(i), Spec("T", (IDS,), "int32")) for i in range(1, TABLES + 1)),
       batch=2048, source="arXiv 1906.00091", optimizer=SGD(learning_rate=1e-2, momentum=0.0),
       reduced={"shape": (12,), "rows": 300, "features": 8, "bottom": (16,), "top": (16, 16, 16)})
def dlrm(dense: Tensor, *sparse: Tensor, rows: int = 10_000, features: int = 64, bottom: Tuple[int, ...] = (512,),
         top: Tuple[int, ...] = (1024, 1024, 1024)) -> Tensor:
    """The continuous features as one vector, each categorical one as the sum of its ids' vectors; the dot products
    of all pairs of them, beside the first, decide."""
    with scope("bottom"):
        x = perceptron(dense, bottom + (features,))
    with scope("tables"):
        vectors = [embedding_bag(ids, rows, features) for ids in sparse]
    x = concat(x, pairwise_dots(stack(x, *vectors)))
    with scope("top"):
        x = perceptron(x, top)
    return linear(x, 1)
