"""One process of JAX that trains a model on several devices, its own or those of all: what all strategies have in
common.

Every device has the whole model, computes its part of the batch, and updates by the mean of all gradients
(jax.shard_map and pmean along the one axis of the mesh). Each moves its own running statistics; those of the first are
read.
"""

from typing import Any, Dict, Optional, Tuple

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks._common.channels_last import native_shape
from photofinish.frameworks.jax import Contestant as Alone
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

AXIS = "data"


class Rank(Alone):
    """Weights, and what the optimizer keeps, are arrays that every device has a copy of; batches lie divided."""

    def __init__(self, setup: Setup) -> None:
        self._connect(setup)
        super().__init__(setup)
        self.device = jax.local_devices()[0]
        mesh = Mesh(np.array(jax.devices()), (AXIS,))
        self.copied, self.divided = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), (AXIS,)))

    def _connect(self, setup: Setup) -> None:
        """Sees to it that JAX will find `setup.world` devices."""
        raise NotImplementedError

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), strategy="shard_map", devices=jax.device_count(), processes=jax.process_count())

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch // self.setup.world, optimizer)

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        nnx, module = self.style.nnx, self.style.module
        model_graph = nnx.graphdef(self.style.model)

        def averaged(model: Any, *batch: Any) -> Tuple[Any, Any, Any]:
            (loss, outputs), found = nnx.value_and_grad(module.training_loss, has_aux=True)(model, *batch)
            loss, found = jax.lax.pmean((loss, found), AXIS)
            return loss, outputs, found

        def gradients(weights: Any, *batch: Any) -> Tuple[Any, ...]:
            model = nnx.merge(model_graph, weights)
            return (*averaged(model, *batch), nnx.state(model))

        def train_step(weights: Any, memory: Any, *batch: Any) -> Tuple[Any, Any, Any]:
            model, updater = nnx.merge(model_graph, weights), nnx.merge(updater_graph, memory)
            loss, _, found = averaged(model, *batch)
            updater.update(model, found)
            return loss, nnx.state(model), nnx.state(updater)

        everywhere, here = self.copied.spec, self.divided.spec
        given = (here,) * len(graph.inputs + graph.targets)
        if graph.losses:
            self.style.gradients = jax.jit(self._spread(
                gradients, (everywhere, *given), (everywhere, here, everywhere, everywhere)))
        if self.style.train_step is not None:
            updater_graph = nnx.graphdef(nnx.eval_shape(module.build)[1])
            self.style.train_step = jax.jit(self._spread(
                train_step, (everywhere, everywhere, *given), everywhere), donate_argnums=(0, 1))
        return handles

    def _spread(self, function: Any, given: Any, returned: Any) -> Any:
        """Unchecked that what each returns as a copy is the same: running statistics are not."""
        return jax.shard_map(function, mesh=self.copied.mesh, in_specs=given, out_specs=returned, check_vma=False)

    def _zeros(self, tree: Any) -> Any:
        return jax.tree.map(self._everywhere, super()._zeros(tree))

    def _replaced(self, tree: Any, values: Dict[int, Any]) -> Any:
        leaves, structure = jax.tree.flatten(tree)
        for number, value in values.items():
            leaves[number] = self._everywhere(np.array(value, self._dtype(leaves[number].dtype), order="C"))
        return jax.tree.unflatten(structure, leaves)

    def _everywhere(self, leaf: Any) -> Any:
        """A copy on each device of this process; of a random key another one, lest all drop the same places."""
        random = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        copies = [jax.device_put(jax.random.fold_in(leaf, number) if random else leaf, device)
                  for number, device in enumerate(jax.local_devices())]
        return jax.make_array_from_single_device_arrays(leaf.shape, self.copied, copies)

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        return jax.make_array_from_process_local_data(self.divided, np.asarray(super()._fed(array, spec)))

    def _shape(self, spec: Any) -> Any:
        shape = (self.batch * self.setup.world, *native_shape(spec))
        return jax.ShapeDtypeStruct(shape, self._dtype(np.dtype(spec.dtype)), sharding=self.divided)

    def read(self, handle: Any) -> Arrays:
        """The loss, or the outputs of the whole batch."""
        whole = isinstance(handle, jax.Array) and handle.ndim == 0
        return super().read(handle if whole else jax.tree.map(
            lambda each: multihost_utils.process_allgather(each, tiled=True), handle))

    def _settle(self) -> None:
        """All go on from the running statistics of the first device."""
        found = self._values(name for name in self.handles if name.startswith("state/"))
        self._store(multihost_utils.broadcast_one_to_all(found))
        super()._settle()
