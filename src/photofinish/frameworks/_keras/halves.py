"""SeparableConv2D, one layer of two kernels in Keras and two layers in a graph: what each half is called."""

from typing import Any, Collection, Dict, Iterable, List, NamedTuple

HALVES = {"depthwise_kernel": "depthwise", "pointwise_kernel": "pointwise"}  # in Keras' order


class Half(NamedTuple):
    """A kernel, by the path that it would have if each of the two were a layer's."""

    path: str
    trainable: bool
    variable: Any


def half(layer: str, kernel: str) -> str:
    """The half of a layer that has this kernel."""
    return "{}:{}".format(layer, HALVES[kernel])


def apart(variables: Iterable[Any], names: Collection[str]) -> List[Any]:
    """Variables of a model, those of SeparableConv2D as halves where `names` has these."""
    found: List[Any] = []
    for variable in variables:
        layer, _, kernel = variable.path.rpartition("/")
        own = half(layer.rpartition("/")[2], kernel) if kernel in HALVES else ""
        found.append(Half(own + "/kernel", variable.trainable, variable) if own in names else variable)
    return found


def joined(found: Dict[str, Any]) -> Dict[str, Any]:
    """Places whose variables are the model's own again."""
    for place in found.values():
        if isinstance(place.variable, Half):
            place.variable = place.variable.variable
    return found
