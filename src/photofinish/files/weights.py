"""A user's weights: a file of arrays, under the graph's names or another library's, as the graph's arrays.

A file is read as each library that the model has a name map of would have written it, and as ours; the reading that
explains most of its arrays holds. Layouts (Keras' kernels, say) follow from the layers.
"""

import hashlib
import importlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from photofinish.errors import UsageError
from photofinish.files.names import KERAS, left_over, translated
from photofinish.files.nearest import beside
from photofinish.frameworks._keras import numbered
from photofinish.frameworks._keras import weights as keras_weights
from photofinish.frameworks._keras.halves import HALVES, half
from photofinish.frameworks._torch import weights as torch_weights
from photofinish.frameworks._torch.theirs import alike, named_places
from photofinish.graph import Graph
from photofinish.layers import (
    BatchNorm,
    ChannelScale,
    ClassToken,
    Embedding,
    Layer,
    LayerNorm,
    LearnedPositions,
    Parameter,
    Recurrent,
    Scan,
)
from photofinish.likeness import nearest
from photofinish.models import Model, Names, all_models
from photofinish.weights import Arrays

OLDER = {".weight": ".gamma", ".bias": ".beta"}  # how transformers' first BERT files name a LayerNorm's
FLOATS = {"BF16": "<u2", "F16": "<f2", "F32": "<f4", "F64": "<f8"}  # as safetensors calls them
KERAS_RECURRENT = ("Keras' arrays of recurrent layers are not known here: write these under the names of the graph, or "
                   "as PyTorch's code saves them")
FITS = 0.5  # the least share of the file's arrays, or the graph's if they are fewer, that a reading must explain


@dataclass(frozen=True)
class Wanted:
    """An array of the graph as one library writes it: under the first of `paths` that is there, with that shape, but
    for axes of one element."""

    paths: tuple[str, ...]
    shape: tuple[int, ...]
    canonical: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Reading:
    """A file taken for one library's, `source` if it has a name map. `wanted` has every array of the graph that the
    library is known to have; `prefix` comes before all of its names."""

    wanted: Mapping[str, Wanted]
    found: Mapping[str, np.ndarray]
    prefix: str = ""
    beyond: Names = ()
    source: str = ""

    def path(self, name: str) -> str | None:
        """Where the file has that array of the graph."""
        paths = (self.prefix + path for path in self.wanted[name].paths) if name in self.wanted else ()
        return next((path for path in paths if path in self.found), None)

    @property
    def matches(self) -> int:
        return sum(self.path(name) is not None for name in self.wanted)

    def surplus(self) -> list[str]:
        """What the file has that nothing asks for, but for tied weights that it holds twice."""
        used = {here for here in map(self.path, self.wanted) if here is not None}
        return [here for here in self.found if here not in used
                and not left_over(self.beyond, here) and not left_over(self.beyond, here.removeprefix(self.prefix))
                and not any(_same(self.found[here], self.found[other]) for other in used)]


def read(path: Path, model: Model, graph: Graph) -> Arrays:
    """"parameter/<name>" and "state/<name>", float32, for everything the graph declares.

    Raises UsageError, naming the array, where one is missing, too many or misshapen.
    """
    stored = _stored(path)
    found = {name: array for name, array in stored.items() if _floating(array)}
    if stored and not found:
        name, array = next(iter(stored.items()))
        raise UsageError(f"{path.name}: {name} is {array.dtype}, and weights are floating-point", "write it as float32")
    declared = _declared(graph)
    best = _best(found, model, graph)
    if not best.matches or best.matches < FITS * min(len(found), len(declared)):
        fitting = [here for here in map(best.path, best.wanted) if here is not None]
        few = f"of its {len(found)} arrays only {_some(fitting)} {'fits' if len(fitting) == 1 else 'fit'}"
        said = (f"fits no known naming of {model.name}: {few}" if fitting else
                f"names no array of {model.name}: it has {_some(found)}")
        known = " or ".join(model.names)
        raise UsageError(f"{path.name} {said}", _taken_by(found, model) or
                         f"write it under the names of the graph, such as {_some(graph.parameters)}"
                         + (f", or as {known} does" if known else ""))
    _check_names(path, model, best, declared, stored)
    arrays = {}
    for name in declared:
        wanted, here = best.wanted[name], best.path(name)
        assert here is not None
        with np.errstate(over="ignore"):  # is told below
            array = np.asarray(best.found[here], np.float32)
        if not alike(array.shape, wanted.shape):
            raise UsageError(f"{path.name}: {here} has shape {_times(array.shape)} where {model.name} takes "
                             f"{_times(wanted.shape)}", _resize(name, array, wanted, model, declared))
        if not np.isfinite(array).all():
            raise UsageError(f"{path.name}: {here} holds values that are not finite", OTHER_STATE)
        if name.endswith(".running_variance") and array.min(initial=0) < 0:
            raise UsageError(f"{path.name}: {here} holds a negative variance", OTHER_STATE)
        arrays[name] = np.ascontiguousarray(wanted.canonical(array.reshape(wanted.shape)))
    return arrays


def source(path: Path, model: Model, graph: Graph) -> str:
    """Whose names a file that `read` takes has; "" for the graph's own, or what our printed code saves."""
    return _best({name: array for name, array in _stored(path).items() if _floating(array)}, model, graph).source


def _best(found: Mapping[str, np.ndarray], model: Model, graph: Graph) -> Reading:
    return max(_readings(found, graph, model.names), key=lambda reading: reading.matches)


def digest(arrays: Arrays) -> str:
    """SHA-256 of names and values."""
    sha = hashlib.sha256()
    for name in sorted(arrays):
        sha.update(name.encode() + arrays[name].tobytes())
    return sha.hexdigest()


def _declared(graph: Graph) -> dict[str, Parameter]:
    return {**{"parameter/" + name: each for name, each in graph.parameters.items()},
            **{"state/" + name: each for name, each in graph.state.items()}}


def _check_names(path: Path, model: Model, reading: Reading, declared: Collection[str],
                 stored: Mapping[str, np.ndarray]) -> None:
    """Raises UsageError for an array that is missing, of another type or that nothing asks for."""
    paths = {name: reading.path(name) for name in declared}
    missing = [name for name, here in paths.items() if here is None]
    if missing:
        name = missing[0]
        own = name.partition("/")[2]
        spelled = reading.prefix + reading.wanted[name].paths[0] if name in reading.wanted else own
        if spelled in stored and spelled not in reading.found:
            raise UsageError(f"{path.name}: {spelled} is {stored[spelled].dtype}, and weights are floating-point",
                             "write it as float32")
        told = own if spelled in (own, name) else f"{spelled} ({own} of {model.name})"
        used = set(paths.values())
        free = [here for here in reading.found if here not in used]
        if name not in reading.wanted and f"{own.rpartition('.')[0]}/" in "/".join(stored):
            raise UsageError(f"{path.name} lacks {told}{_more(missing)}", KERAS_RECURRENT)
        raise UsageError(f"{path.name} lacks {told}{_more(missing)}",
                         _without_top(model, missing, free, declared) or _taken_by(stored, model)
                         or _nearest(spelled, free) or "every array must be there: save the whole model, and no part")
    surplus = reading.surplus()
    if surplus:
        raise UsageError(f"{path.name} has {surplus[0]}{_more(surplus)}, which {model.name} has no place for",
                         _taken_by(stored, model) or _nearest(surplus[0], [here for here in paths.values() if here])
                         or f"leave it out of the file: {model.name} has none of a name like it")


def _without_top(model: Model, missing: Collection[str], free: Collection[str], declared: Collection[str]) -> str:
    """The advice for a file that lacks the last layer, has no other and lacks nothing else."""
    top = [each for each in declared if each.startswith(_last(declared) + ".")]
    if model.classes is None or list(missing) != top or free:
        return ""
    return "it has no last layer, which tells the classes apart: save the model with it (in Keras, include_top=True)"


def _taken_by(stored: Mapping[str, np.ndarray], model: Model) -> str:
    """Which other model of the zoo such a file is of, by the first name map that names all of its arrays, and no other;
    "" if there is none."""
    found = {name: array for name, array in stored.items() if _floating(array)}
    for other in all_models().values():
        graph = other.graph() if other.names and other.name != model.name else None
        declared = {} if graph is None else _declared(graph)
        if graph is None or len(declared) > len(found):
            continue
        last = _last(declared)  # which may be for another number of classes
        for reading in _readings(found, graph, other.names):
            paths = {name: reading.path(name) for name in declared if reading.source}
            if paths and all(here and (alike(reading.found[here].shape, reading.wanted[name].shape)
                                       or name.startswith(last + ".")) for name, here in paths.items()) \
                    and not reading.surplus():
                return f"{other.name} takes this file, whose arrays are named as {reading.source} names them"
    return ""


def _last(declared: Collection[str]) -> str:
    """"parameter/<name>" of the last layer with parameters."""
    return [each for each in declared if each.startswith("parameter/")][-1].rpartition(".")[0]


def _readings(found: Mapping[str, np.ndarray], graph: Graph, names: Mapping[str, Names]) -> Iterator[Reading]:
    """The file as every library that is known to name these arrays would have written it."""
    yield Reading(_own(graph), found)
    yield from _prefixed(_pytorch(graph, None), found)
    yield _keras_reading(graph, {node.name: node.name for node in graph.nodes}, found)
    for source, pairs in names.items():
        theirs = translated(graph, pairs)
        if source in KERAS:
            yield _keras_reading(graph, theirs, found, pairs, source)
        else:
            yield from _prefixed(_pytorch(graph, theirs), found, pairs, source)


def _prefixed(wanted: Mapping[str, Wanted], found: Mapping[str, np.ndarray], beyond: Names = (),
              source: str = "") -> Iterator[Reading]:
    """With any first word that the file's names have ("module." of a model that was wrapped) and without."""
    for prefix in ["", *dict.fromkeys(path.split(".")[0] + "." for path in found if "." in path)]:
        yield Reading(wanted, found, prefix, beyond, source)


def _own(graph: Graph) -> dict[str, Wanted]:
    """As `photofinish` names and lays out arrays, with or without the group in front."""
    return {f"{group}/{name}": Wanted((f"{group}/{name}", name), each.shape, np.asarray)
            for group, declared in (("parameter", graph.parameters), ("state", graph.state))
            for name, each in declared.items()}


def _pytorch(graph: Graph, names: dict[str, str] | None) -> dict[str, Wanted]:
    """As a state dictionary."""
    wanted = {}
    for name, place in (torch_weights.places(graph) if names is None else named_places(graph, names)).items():
        group, declared = ("parameter", graph.parameters) if name in graph.parameters else ("state", graph.state)
        older = [place.path[:-len(leaf)] + old for leaf, old in OLDER.items() if place.path.endswith(leaf)]
        shape = declared[name].shape
        wanted[f"{group}/{name}"] = Wanted((place.path, *older), shape[::-1] if place.turned else shape,
                                           place.canonical)
    return wanted


def _keras_reading(graph: Graph, names: dict[str, str], found: Mapping[str, np.ndarray], beyond: Names = (),
                   source: str = "") -> Reading:
    """As Keras' variables: layer/kernel, or in its own files layer/0, layer/1, ... in their order."""
    leaves = {names[node.name]: _keras_leaves(node.layer, [own for own, _ in node.parameters + node.state])
              for node in graph.nodes if node.name in names and not isinstance(node.layer, (Recurrent, Scan))}
    variables = [SimpleNamespace(path=f"{layer}/{leaf}", trainable=not leaf.startswith("moving_"))
                 for layer, each in leaves.items() for leaf in each]
    wanted = {}
    for name, place in keras_weights.places(graph, SimpleNamespace(variables=variables), names).items():
        shape = place.native(np.empty(place.layout.shape, np.bool_)).shape
        wanted[name] = Wanted((place.variable.path,), shape, place.canonical)
    moved = _renumbered(found, leaves)
    theirs = {_keras_path(path, leaves, moved): array for path, array in found.items()}
    return Reading(wanted, theirs, "", beyond, source)


def _renumbered(found: Collection[str], leaves: Collection[str]) -> dict[str, str]:
    """What the layers of a file that Keras numbers are called where a model is the first of its process; none if the
    map has no such layers."""
    parts = {part for path in found for part in path.partition(":")[0].split("/")[:-1]}
    return numbered.as_first(parts) if set(leaves) & set(numbered.WORDS) else {}


def _keras_leaves(layer: Layer, own: list[str]) -> list[str]:
    """What Keras calls the variables of a layer, in its order, which is ours."""
    first = "gamma" if isinstance(layer, (BatchNorm, LayerNorm)) else \
        "weight" if isinstance(layer, (ClassToken, LearnedPositions, ChannelScale)) else "kernel"
    words = {"weight": "embeddings" if isinstance(layer, Embedding) else first,
             "bias": "beta" if first == "gamma" else "bias",
             "running_mean": "moving_mean", "running_variance": "moving_variance"}
    return [words[name] for name in own if name in words]


def _keras_path(path: str, leaves: Mapping[str, list[str]], moved: Mapping[str, str]) -> str:
    """A path of any of Keras' formats as layer/variable; a path without a layer of these stays."""
    parts = [moved.get(part, part) for part in path.partition(":")[0].split("/")]
    known = {each.partition(":")[0] for each in leaves}  # of a half its layer
    layer = next((part for part in reversed(parts[:-1]) if part in known), None)
    if layer is None:
        return path
    if layer not in leaves:
        kernel = tuple(HALVES)[int(parts[-1])] if parts[-1] in ("0", "1") else parts[-1]
        return half(layer, kernel) + "/kernel" if kernel in HALVES else path
    leaf = {"depthwise_kernel": "kernel"}.get(parts[-1], parts[-1])
    numbered = leaf.isdigit() and int(leaf) < len(leaves[layer])
    return f"{layer}/{leaves[layer][int(leaf)] if numbered else leaf}"


def _stored(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, and no file", "name a file in it")
    if not path.is_file():
        raise UsageError(f"there is no file {path}", beside(path))
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"cannot read weights from {path.name}: known are {', '.join(READERS)}", CONVERT)
    try:
        return reader(path)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise UsageError(f"{path.suffix} files need {package}, which is not installed",
                         f"pip install {package}") from error
    except Exception as error:  # each library has its own for a broken file
        raise UsageError(f"cannot read weights from {path.name}: {error}",
                         f"it is cut short, or no {path.suffix} file of arrays: write it again") from error


def _floating(array: np.ndarray) -> bool:
    """Counters, positions and seeds are integers: no weights."""
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _npz(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)


def _safetensors(path: Path) -> dict[str, np.ndarray]:
    """NumPy has no bfloat16: where a file holds any, its arrays are taken as bytes, and widened, which is exact."""
    library: Any = importlib.import_module("safetensors.numpy")
    try:
        found: dict[str, np.ndarray] = library.load_file(path)
    except (TypeError, KeyError):
        stored = library.deserialize(path.read_bytes())
        found = {name: _of_bytes(**each) for name, each in stored if each["dtype"] in FLOATS}
    return found


def _of_bytes(shape: Sequence[int], dtype: str, data: bytes) -> np.ndarray:
    array = np.frombuffer(data, FLOATS[dtype])
    wide = (array.astype("<u4") << 16).view("<f4") if dtype == "BF16" else array
    return np.asarray(wide).reshape(shape)


def _h5(path: Path) -> dict[str, np.ndarray]:
    """Keras 3's weights (a group "vars" for each layer, which tells the layer's name) and its older layout."""
    h5py: Any = importlib.import_module("h5py")
    found: dict[str, np.ndarray] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("optimizer"):
            layer = item.parent.attrs.get("name", "") if name.split("/")[-2:-1] == ["vars"] else ""
            found[f"{layer}/{name.rpartition('/')[2]}" if layer else name] = np.asarray(item)

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


READERS: dict[str, Callable[[Path], dict[str, np.ndarray]]] = {".safetensors": _safetensors, ".npz": _npz, ".h5": _h5}
CONVERT = ("PyTorch writes one by safetensors.torch.save_file(model.state_dict(), 'model.safetensors'), "
           "Keras by model.save_weights('model.weights.h5')")


OTHER_STATE = "its training went astray, or the file is damaged: save the model from before, or anew"


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.array_equal(one, other)


def _resize(name: str, array: np.ndarray, wanted: Wanted, model: Model, declared: Collection[str]) -> str:
    """The advice that makes the last layer fit, if it is the number of classes that does not."""
    changed = [size for size, other in zip(array.shape, wanted.shape) if size != other]
    if model.classes is None or name.rpartition(".")[0] != _last(declared) or array.ndim != len(wanted.shape) \
            or len(changed) != 1:
        return ""
    return f"it was trained for {changed[0]} classes: pass --classes {changed[0]}"


def _nearest(name: str, others: Collection[str]) -> str:
    near = nearest(name, others, most=1)
    return f"the nearest name is {near[0]}" if near else ""


def _more(names: Collection[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:3])
    return f"{shown}, ..." if len(names) > 3 else shown or "none"


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "()"
