"""GCN: Kipf & Welling 2016, "Semi-Supervised Classification with Graph Convolutional Networks" (arXiv 1609.02907).

gcn_cora has the sizes of the citation graph Cora: 2708 papers, 1433 words, 7 subjects. A sample is a whole graph, so a
batch is one of them. The normalised adjacency is an input, dense: all 7,333,264 values take part in a product, of which
some 13,000 are not zero and the paper's implementation stores no more. The words of a paper are dense normal values,
too (the implementation's are sparse: 62 of 231 million multiply-accumulates), and all 3,880,564 of them are dropped out
where the implementation draws for the 49,216 that it stores: on a CPU that may be half of a training step. Subjects are
drawn by Zipf's law. As in the paper no layer has a bias; its
weight decay (5e-4, first layer) is left out. 15 % of the labels count, where Cora's split has 5 %.
"""

from photofinish import models
from photofinish.graph import Tensor
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.optimizers import Adam
from photofinish.vocabulary import block, dropout, linear, matmul, relu

NODES, WORDS, SUBJECTS = 2708, 1433, 7


@block
def graph_convolution(x: Tensor, adjacency: Tensor, features: int) -> Tensor:
    """Each node becomes the weighted sum of its neighbours and itself, after a product with the weight."""
    return matmul(adjacency, linear(dropout(x, 0.5), features, bias=False))


@models.model("gcn_cora", inputs=(("features", Spec("TC", (NODES, WORDS))), ("adjacency", Spec("TU", (NODES, NODES)))),
       classes=SUBJECTS, objective=SoftmaxCrossEntropy(ignore=-100), task="node classification", unit="graphs",
       batch=1, source="arXiv 1609.02907", optimizer=Adam(learning_rate=1e-2),
       reduced={"shape": (24, 20)})
def gcn(features: Tensor, adjacency: Tensor, classes: int, hidden: int = 16) -> Tensor:
    x = relu(graph_convolution(features, adjacency, hidden))
    logits: Tensor = graph_convolution(x, adjacency, classes)
    return logits
