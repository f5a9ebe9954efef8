"""The flax.nnx modules of a graph in mixed precision: layers compute in bfloat16; parameters, outputs and loss are in
float32."""

from typing import Optional

from photofinish.frameworks._flax import source
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

FORM = "bfloat16"
HELPERS = {
    "in_bfloat16": '''\
def in_bfloat16(model):
    """The model with layers that compute in it. Their parameters stay in float32."""
    model.set_attributes(dtype=jnp.bfloat16, raise_if_not_found=False)
    return model
''',
    "in_float32": '''\
def in_float32(outputs):
    return jax.tree.map(lambda each: each.astype(jnp.float32), outputs)
''',
}


def native_source(graph: Graph, optimizer: Optional[Optimizer] = source.PLAIN) -> str:
    """As in source.py. Raises Unsupported, naming the layer."""
    return source.native_source(graph, optimizer, "in_bfloat16({})", "in_float32({})", dict(source.HELPERS, **HELPERS))
