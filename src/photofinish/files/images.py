"""A user's pictures: FOLDER/<class>/<picture>, prepared as the model's source prepares them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from photofinish.errors import UsageError
from photofinish.files.nearest import beside
from photofinish.layers import Spec
from photofinish.models import Preparation

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".npy")
LONGEST = 1000  # times as long as it is wide


@dataclass(frozen=True)
class Picture:
    path: Path
    label: int


def find(folder: Path, classes: int) -> tuple[Picture, ...]:
    """Every picture with the number of its class: that of its folder's name if all are numbers, otherwise the place
    of the name among them. Raises UsageError if there is none or the classes are not the model's."""
    if not folder.is_dir():
        if folder.exists():
            raise UsageError(f"{folder} is a file, and no folder", "name the folder that has one for each class in it")
        raise UsageError(f"there is no folder {folder}", beside(folder, folder=True))
    named = folders(folder)
    if not named:
        raise UsageError(f"{folder} has no folders in it", "put the pictures of each class into a folder of its own")
    numbered = all(each.name.isdecimal() for each in named)
    largest = max(int(each.name) for each in named) if numbered else 0
    if largest >= classes:
        raise UsageError(f"{folder} has a class {largest}, the model tells {classes} apart, counted from 0",
                         f"pass --classes {largest + 1} (and weights for so many), or number the folders 0 to "
                         f"{classes - 1}")
    same = {int(each.name): each.name for each in reversed(named)} if numbered else {}
    for each in named if numbered else ():
        if same[int(each.name)] != each.name:
            raise UsageError(f"{folder} has the class {int(each.name)} twice: {same[int(each.name)]} and {each.name}",
                             "put its pictures into one folder")
    if not numbered and len(named) != classes:
        raise UsageError(f"{folder} has {len(named)} classes, the model tells {classes} apart",
                         "name the folders by the numbers of their classes, or pass --classes")
    labels = {each: int(each.name) if numbered else i for i, each in enumerate(named)}
    found = tuple(Picture(path, label) for each, label in labels.items() for path in sorted(each.iterdir())
                  if _is_picture(path))
    if not found:
        raise UsageError(f"{folder} has no pictures in its {len(named)} folders", f"known are {', '.join(SUFFIXES)}")
    return found


def left_out(folder: Path) -> tuple[str, ...]:
    """What lies in a folder of classes and `find` does not take: a sentence for each kind, with how many and why."""
    loose = [each for each in folder.iterdir() if _is_picture(each)]
    seen = [each for named in folders(folder) for each in named.iterdir() if not each.name.startswith(".")]
    inner = [each for each in seen if each.is_dir()]
    strange = [each for each in seen if each.is_file() and not _is_picture(each)]
    told = []
    if loose:
        told.append(f"left out in {folder} itself: {_many(loose, 'picture')} (put each into the folder of its class)")
    if strange:
        suffixes = sorted({each.suffix.lower() or "without a suffix" for each in strange})
        told.append(f"left out in the folders of classes: {_many(strange, 'file')}, {', '.join(suffixes)} (pictures "
                    f"are {', '.join(SUFFIXES)})")
    if inner:
        told.append(f"left out below the folders of classes: {_many(inner, 'folder')}, {inner[0]} the first (put "
                    "pictures into the folder of their class)")
    return tuple(told)


def _many(found: Sequence[Path], what: str) -> str:
    return f"{len(found):,} {what}{'s' if len(found) > 1 else ''}"


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and not path.is_dir()


def folders(folder: Path) -> list[Path]:
    """Those of classes, by name: what others hide there (.ipynb_checkpoints) is none."""
    return sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))


def batches(pictures: Sequence[Picture], spec: Spec, preparation: Preparation, batch: int) -> Iterator[np.ndarray]:
    """(batch, C, H, W) in float32, read as they are asked for. The last picture fills the last batch up."""
    for begin in range(0, len(pictures), batch):
        images = [load(each.path, spec, preparation) for each in pictures[begin:begin + batch]]
        yield np.stack(images + images[-1:] * (batch - len(images)))


def load(path: Path, spec: Spec, preparation: Preparation) -> np.ndarray:
    """One input of that spec. A .npy file of bytes (H, W) or (H, W, C) is a picture; one of floats is an input
    already. Raises UsageError, naming the file."""
    read = _read(path)
    if isinstance(read, np.ndarray):
        return _as_input(path, read, spec)
    if max(read.size) > LONGEST * min(read.size):  # resized, it would take all memory there is
        raise UsageError(f"the picture {path} has {read.width:,} x {read.height:,} pixels, one side more than "
                         f"{LONGEST:,} times the other", "take it out, or cut it")
    return prepared(read, spec, preparation)


def _read(path: Path) -> "np.ndarray | Pixels":
    """The floats of an input, or a picture. Raises UsageError for a file that is none."""
    try:
        if path.suffix.lower() != ".npy":
            return _from_file(path)
        array = np.asarray(np.load(path))
        if array.dtype.kind == "b":  # 0 and 1 of 255 are both black
            raise UsageError(f"{path} holds truth values, and no picture", "save array * np.uint8(255)")
        return array if array.dtype.kind == "f" else _from_array(path, array)
    except ModuleNotFoundError as error:
        raise UsageError("reading pictures needs Pillow, which is not installed", "pip install pillow") from error
    except UsageError:
        raise
    except Exception as error:  # each library has its own for a broken file
        if isinstance(error, OSError) and error.errno:  # the system's: there may be nothing wrong with the picture
            raise UsageError(f"cannot read {path}: {error.strerror}", "make it readable, or take it out") from error
        why = str(error).replace(f" {str(path)!r}", "")  # Pillow says where, too
        raise UsageError(f"cannot read the picture {path}: {why}",
                         "it is cut short, or no picture: write it again, or take it out") from error


def told(spec: Spec, preparation: Preparation) -> str:
    """How a picture becomes such an input, in words."""
    if spec.axes != "CHW":
        return "as they lie there, in .npy files"
    height, width = spec.size("H"), spec.size("W")
    sides = " x ".join(f"{side - 2 * preparation.border}" for side in (height, width))
    border = f", a border of {preparation.border}" if preparation.border else ""
    means, deviations = (" ".join(f"{each:.3g}" for each in values)
                         for values in (preparation.mean, preparation.deviation))
    return (f"the middle {sides} of a picture whose shorter side is {1 / preparation.crop:.3g} times as long "
            f"({preparation.resample}){border}, {preparation.channels}, 0 to 1 less {means} over {deviations}")


def prepared(picture: "Pixels", spec: Spec, preparation: Preparation) -> np.ndarray:
    """Resized so that the crop's share of the shorter side is the input's, cropped, and normalised: to the bit as
    torchvision does it (and timm, whose transforms are torchvision's)."""
    from PIL import Image

    if spec.axes != "CHW" or spec.size("C") != len(preparation.channels):
        raise UsageError(f"the model takes {spec.axes} {spec.shape}, its pictures are prepared as "
                         f"{preparation.channels}", "name its @model a preparation, or save inputs as .npy of floats")
    height, width, border = spec.size("H"), spec.size("W"), preparation.border
    wide, high = width - 2 * border, height - 2 * border
    if min(wide, high) < 1:
        raise UsageError(f"a border of {border} pixels does not fit into a picture of {height} x {width}",
                         "name its @model a preparation with another one")
    picture = picture.convert("L" if preparation.channels == "L" else "RGB")
    size = _resized(picture.width, picture.height, wide, high, preparation.crop)
    picture = picture.resize(size, Image.Resampling[preparation.resample.upper()])
    left, top = round((size[0] - wide) / 2), round((size[1] - high) / 2)
    picture = picture.crop((left, top, left + wide, top + high))
    picture = picture.crop((-border, -border, wide + border, high + border))  # black, where there is no picture
    pixels = np.asarray(picture, np.float32).reshape(height, width, -1) / np.float32(255)
    pixels = pixels[:, :, ::-1] if preparation.channels == "BGR" else pixels
    normal = (pixels - np.asarray(preparation.mean, np.float32)) / np.asarray(preparation.deviation, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1))


def _resized(width: int, height: int, wide: int, high: int, crop: float) -> tuple[int, int]:
    """The size of a picture before its part of `wide` x `high` is cut out. For a square torchvision's Resize: the short
    side is a whole number (timm rounds it down), the long one what it comes to, rounded down. Otherwise timm's
    ResizeKeepRatio, as torchvision has nothing for it."""
    target = [math.floor(side / crop + 1e-9) for side in (wide, high)]  # 224 / (224 / 354) is 353.99..., and means 354
    if target[0] == target[1]:
        long = int(target[0] * max(width, height) / min(width, height))
        return (target[0], long) if width <= height else (long, target[0])
    ratio = min(height / target[1], width / target[0])
    return round(width / ratio), round(height / ratio)


def _from_file(path: Path) -> "Pixels":
    from PIL import Image

    with Image.open(path) as opened:
        opened.load()
        if opened.mode.startswith(("I", "F")):  # Pillow would cut every value off at 255
            raise ValueError(f"its values have more than 8 bits (Pillow's mode {opened.mode})")
        return opened


def _from_array(path: Path, array: np.ndarray) -> "Pixels":
    from PIL import Image

    if not array.size:
        raise ValueError(f"its shape is {array.shape}")
    if not 0 <= array.min() <= array.max() <= 255:
        raise ValueError(f"its values go from {array.min()} to {array.max()}, those of a picture from 0 to 255")
    flat = np.squeeze(array)
    if flat.ndim not in (2, 3) or array.dtype.kind not in "uib":
        raise ValueError(f"its shape is {array.shape} of {array.dtype}, that of a picture (H, W) or (H, W, C) of bytes")
    if flat.ndim == 3 and flat.shape[0] in (3, 4) and flat.shape[2] not in (3, 4):
        raise UsageError(f"{path} has shape {array.shape}: its channels come first, in a picture of bytes they come "
                         "last (H, W, C)", "save np.moveaxis(array, -3, -1), or floats as the model takes them")
    return Image.fromarray(flat.astype(np.uint8))


def _as_input(path: Path, array: np.ndarray, spec: Spec) -> np.ndarray:
    if array.shape != spec.shape:
        raise UsageError(f"{path} has shape {array.shape}, the model takes {spec.axes} {spec.shape}")
    with np.errstate(over="ignore"):  # what is too large for 32 bits becomes infinite, and is told
        values = array.astype(np.float32)
    strange = np.count_nonzero(~np.isfinite(values))
    if strange:
        raise UsageError(f"{path} has {strange:,} of {values.size:,} values that are no finite numbers (NaN or "
                         "infinity)", "write it again, or take it out")
    return values
