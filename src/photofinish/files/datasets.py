"""Data sets by name, `digits`, or with the folder on the user's disk, `cifar10:FOLDER`, as whoever made them publishes
them; texts by their file."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from photofinish.data.sets import CLASSES, DataSet, Samples, digits, patterns, standardised
from photofinish.errors import UsageError, at_home, unknown
from photofinish.files import images, texts
from photofinish.graph import Graph
from photofinish.layers import Shape
from photofinish.models import Preparation

MNIST = "http://yann.lecun.com/exdb/mnist/ (mirrored at https://ossci-datasets.s3.amazonaws.com/mnist/)"
CIFAR = "https://www.cs.toronto.edu/~kriz/cifar.html, as the binary version"
_MAGIC = {3: 2051, 1: 2049}  # what an idx file of bytes with so many axes begins with


@dataclass(frozen=True)
class Source:
    """A data set that is there but not read yet. `shape` is that of a sample and `classes` how many there are, None
    where that is the model's to say; of what is drawn there are as many as a model tells apart, if it is `fewest` or
    more. Pictures that are `framed` get a border of black where a model's preparation has one. `axes` are those of a
    sample, "CHW" or "T". `left_out` tells what lies there and is not taken. `read` takes the model and its preparation
    of pictures. Raises UsageError."""

    name: str
    shape: Shape | None
    classes: int | None
    read: Callable[[Graph, Preparation], DataSet]
    axes: str = "CHW"
    fewest: int | None = None
    framed: bool = False
    left_out: tuple[str, ...] = ()

    def within(self, shape: Shape, border: int) -> "Source":
        """With a border of so many pixels, where that makes a model's input of this shape."""
        if not self.framed or self.shape is None:
            return self
        channels, *sides = self.shape
        return replace(self, shape=shape) if shape == (channels, *(side + 2 * border for side in sides)) else self


def is_text(text: str) -> bool:
    """Whether what is spelled so would be a file of words."""
    return Path(text).suffix.lower() in texts.SUFFIXES


def find(text: str) -> Source:
    """The data set spelled NAME, NAME:FOLDER, FILE.txt or FILE.bin, or patterns:N for so many of them to train on.
    Raises UsageError, naming the file that is missing and where it is published."""
    with _readable():
        found = _found(text)

    def read(graph: Graph, preparation: Preparation) -> DataSet:
        with _readable():
            return found.read(graph, preparation)
    return replace(found, read=read)


@contextmanager
def _readable() -> Iterator[None]:
    """Raises UsageError for what is there and may not be read."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from error


def _found(text: str) -> Source:
    if is_text(text):
        return _text(at_home(text))
    name, _, folder = text.partition(":")
    if name == "patterns" and folder.isdecimal() and int(folder):
        count = int(folder)
        return _patterns(text, train=count, validation=max(1, count // 4))
    if name in BUILT_IN:
        if folder:
            many = ", or patterns:512 for so many of them" if name == "patterns" else ""
            raise UsageError(f"{name} comes with Photofinish and takes no folder", f"write --data {name}{many}")
        return BUILT_IN[name]
    if name not in ON_DISK:
        raise unknown("data set", name, [*BUILT_IN, *ON_DISK], "those on your disk are spelled NAME:FOLDER, texts "
                      "FILE.txt or FILE.bin")
    if not folder:
        raise UsageError(f"{name} lies on your disk: where?", f"write --data {name}:FOLDER")
    path = at_home(folder)
    if not path.is_dir():
        raise UsageError(f"{path} is a file, and no folder" if path.exists() else f"there is no folder {path}")
    return ON_DISK[name](path)


def _shape(graph: Graph) -> Shape:
    return graph.inputs[0][1].shape


def _patterns(name: str, **counts: int) -> Source:
    """So many to train on and so many to be judged on, or as many as usual."""
    def read(graph: Graph, preparation: Preparation) -> DataSet:
        told_apart = min(CLASSES, graph.spec(graph.outputs[0]).size("C"))
        return patterns(_shape(graph), classes=told_apart, **counts)
    return Source(name, None, CLASSES, read, fewest=2)


BUILT_IN = {
    "digits": Source("digits", (1, 8, 8), 10, lambda graph, preparation: digits()),
    "patterns": _patterns("patterns"),
}


def _text(path: Path) -> Source:
    if not path.is_file():
        raise UsageError(f"there is no file {path}", texts.PUBLISHED)
    return Source(path.name, None, None, lambda graph, preparation: texts.read(path, graph), "T")


def _mnist(folder: Path) -> Source:
    parts = {split: [_published(folder, [f"{word}-{kind}-ubyte", f"{word}-{kind}-ubyte.gz"], "MNIST", MNIST)
                     for kind in ("images-idx3", "labels-idx1")]
             for split, word in (("train", "train"), ("validation", "t10k"))}

    def read(graph: Graph, preparation: Preparation) -> DataSet:
        border = (_shape(graph)[1] - 28) // 2
        train, validation = (_framed(_digits(*files), border) for files in parts.values())
        return DataSet("mnist", *standardised(train, validation), 10, "MNIST (LeCun, Cortes & Burges)", 0.97)
    return Source("mnist", (1, 28, 28), 10, read, framed=True)


def _framed(samples: Samples, border: int) -> Samples:
    return samples._replace(inputs=np.pad(samples.inputs, ((0, 0), (0, 0), (border, border), (border, border))))


def _digits(images_file: Path, labels_file: Path) -> Samples:
    """Raises UsageError where the files do not belong together, or are those of another set in this format."""
    found, labels = _idx(images_file, 3), _idx(labels_file, 1)
    if found.shape != (len(labels), 28, 28) or not len(labels) or labels.max() > 9:
        told = f"{' x '.join(map(str, found.shape))} pixels with {len(labels)} labels"
        raise UsageError(f"{images_file} and {labels_file.name} are not MNIST's: {told}"
                         + (f" up to {labels.max()}" if len(labels) else ""), f"fetch them again from {MNIST}")
    return Samples(found[:, None].astype(np.float32), labels.astype(np.int32))


def _idx(path: Path, axes: int) -> np.ndarray:
    """The bytes of an idx file. Raises UsageError if it is another kind of file, or not whole."""
    raw = path.read_bytes()
    try:
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be unpacked: {error}", f"fetch it again from {MNIST}") from error
    head = np.frombuffer(raw[:4 * (1 + axes)].ljust(4 * (1 + axes), b"\0"), ">i4")
    shape, body = tuple(map(int, head[1:])), raw[4 * (1 + axes):]
    if head[0] != _MAGIC[axes] or min(shape) < 0 or len(body) != int(np.prod(shape)):
        raise UsageError(f"{path} is no whole idx file of {axes} axes", f"fetch it again from {MNIST}")
    return np.frombuffer(body, np.uint8).reshape(shape)


def _cifar(folder: Path, name: str, classes: int, inner: str, parts: dict[str, list[str]], labels: int) -> Source:
    """`labels` bytes come before the 3,072 of a picture; the last of them is its class."""
    folder = folder / inner if (folder / inner).is_dir() else folder
    title = name.upper().replace("CIFAR", "CIFAR-")
    paths = [[_published(folder, [each], title, CIFAR) for each in names] for names in parts.values()]

    def read(graph: Graph, preparation: Preparation) -> DataSet:
        train, validation = (_records(names, labels, classes) for names in paths)
        return DataSet(name, *standardised(train, validation), classes, f"{title} (Krizhevsky 2009)")
    return Source(name, (3, 32, 32), classes, read)


def _records(paths: list[Path], labels: int, classes: int) -> Samples:
    size = labels + 3 * 32 * 32
    found = []
    for path in paths:
        raw = np.fromfile(path, np.uint8)
        if not len(raw) or len(raw) % size:
            raise UsageError(f"{path} does not hold whole records of {size} bytes", f"fetch it again from {CIFAR}")
        found.append(raw.reshape(-1, size))
        if (most := found[-1][:, labels - 1].max()) >= classes:
            raise UsageError(f"{path} has a class {most}, where there are {classes} from 0 on: it is damaged, or "
                             "another file", f"fetch it again from {CIFAR}")
    rows = np.concatenate(found)
    return Samples(rows[:, labels:].reshape(-1, 3, 32, 32).astype(np.float32), rows[:, labels - 1].astype(np.int32))


def _folder(folder: Path) -> Source:
    """ImageNet's way: FOLDER/train/<class>/<picture> and FOLDER/val/<class>/<picture>."""
    parts = [folder / "train", folder / "val"]
    for part in parts:
        if not part.is_dir():
            raise UsageError(f"{folder} has no folder {part.name}",
                             f"put the pictures of each class into {folder}/train/<class>/ and {folder}/val/<class>/, "
                             "as https://image-net.org orders them")
    known, found = ({each.name for each in images.folders(part)} for part in parts)
    if not known:
        raise UsageError(f"{parts[0]} has no folders in it", "put the pictures of each class into a folder of its own")
    numbered = all(map(str.isdecimal, known | found))
    for name in () if numbered else sorted(found ^ known):  # told by the order of names: one less would change the rest
        lacking, having = parts if name in found else parts[::-1]
        raise UsageError(f"{having} has a class {name}, which {lacking} has not",
                         "name the folders of a class alike in both; where it has no pictures its folder is empty")
    classes = 1 + max(map(int, known | found)) if numbered else len(known)

    def read(graph: Graph, preparation: Preparation) -> DataSet:
        train, validation = (_pictures(part, classes, graph, preparation) for part in parts)
        return DataSet("folder", train, validation, classes, str(folder))
    return Source("folder", None, classes, read, left_out=tuple(chain.from_iterable(map(images.left_out, parts))))


def _pictures(folder: Path, classes: int, graph: Graph, preparation: Preparation) -> Samples:
    found = images.find(folder, classes)
    return Samples(np.stack([images.load(each.path, graph.inputs[0][1], preparation) for each in found]),
                   np.array([each.label for each in found], np.int32))


def _published(folder: Path, names: list[str], what: str, where: str) -> Path:
    """The first of these files that is there. Raises UsageError."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"{folder} lacks {' or '.join(names)} of {what}", f"it is published at {where}")


ON_DISK: dict[str, Callable[[Path], Source]] = {
    "mnist": _mnist,
    "cifar10": partial(_cifar, name="cifar10", classes=10, inner="cifar-10-batches-bin", labels=1, parts={
        "train": [f"data_batch_{i}.bin" for i in range(1, 6)], "validation": ["test_batch.bin"]}),
    "cifar100": partial(_cifar, name="cifar100", classes=100, inner="cifar-100-binary", labels=2, parts={
        "train": ["train.bin"], "validation": ["test.bin"]}),
    "folder": _folder,
}
