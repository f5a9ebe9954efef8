"""A user's pictures: FOLDER/<class>/<picture>, prepared as the model's source prepares them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from photofinish.errors import UsageError
from photofinish.layers import Spec
from photofinish.models import Preparation

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels
SUFFIXES = (".png", ".jpg", ".jpeg", ".npy")


@dataclass(frozen=True)
class Picture:
    path: Path
    label: int


def find(folder: Path, classes: int) -> tuple[Picture, ...]:
    """Every picture with the number of its class: that of its folder's name if all are numbers, otherwise the place
    of the name among them. Raises UsageError if there is none or the classes are not the model's."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file, and no folder" if folder.exists() else f"there is no folder {folder}")
    named = folders(folder)
    if not named:
        raise UsageError(f"{folder} has no folders in it", "put the pictures of each class into a folder of its own")
    numbered = all(each.name.isdecimal() for each in named)
    if numbered and max(int(each.name) for each in named) >= classes:
        raise UsageError(f"{folder} has a class {max(int(each.name) for each in named)}, the model tells {classes} "
                         "apart, counted from 0")
    if not numbered and len(named) != classes:
        raise UsageError(f"{folder} has {len(named)} classes, the model tells {classes} apart",
                         "name the folders by the numbers of their classes, or pass --classes")
    labels = {each: int(each.name) if numbered else i for i, each in enumerate(named)}
    found = tuple(Picture(path, label) for each, label in labels.items() for path in sorted(each.iterdir())
                  if path.suffix.lower() in SUFFIXES and not path.name.startswith("."))
    if not found:
        raise UsageError(f"{folder} has no pictures in its {len(named)} folders", f"known are {', '.join(SUFFIXES)}")
    return found


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
    try:
        if path.suffix.lower() == ".npy":
            array = np.asarray(np.load(path))
            if array.dtype.kind == "f":
                return _as_input(path, array, spec)
            pixels = _from_array(array)
        else:
            pixels = _from_file(path)
        return prepared(pixels, spec, preparation)
    except ModuleNotFoundError as error:
        raise UsageError("reading pictures needs Pillow, which is not installed", "pip install pillow") from error
    except UsageError:
        raise
    except Exception as error:  # each library has its own for a broken file
        why = str(error).replace(f" {str(path)!r}", "")  # Pillow says where, too
        raise UsageError(f"cannot read the picture {path}: {why}",
                         "it is cut short, or no picture: write it again, or take it out") from error


def prepared(picture: "Pixels", spec: Spec, preparation: Preparation) -> np.ndarray:
    """Resized so that the crop's share of the shorter side is the input's, cropped, and normalised."""
    from PIL import Image

    if spec.axes != "CHW" or spec.size("C") != len(preparation.channels):
        raise UsageError(f"the model takes {spec.axes} {spec.shape}, its pictures are prepared as "
                         f"{preparation.channels}", "name its @model a preparation, or save inputs as .npy of floats")
    height, width = spec.size("H"), spec.size("W")
    scale = max(height / picture.height, width / picture.width) / preparation.crop
    size = max(width, round(scale * picture.width)), max(height, round(scale * picture.height))
    left, top = round((size[0] - width) / 2), round((size[1] - height) / 2)
    picture = picture.convert("L" if preparation.channels == "L" else "RGB")
    picture = picture.resize(size, Image.Resampling[preparation.resample.upper()])
    picture = picture.crop((left, top, left + width, top + height))
    pixels = np.asarray(picture, np.float32).reshape(height, width, -1) / np.float32(255)
    pixels = pixels[:, :, ::-1] if preparation.channels == "BGR" else pixels
    normal = (pixels - np.asarray(preparation.mean, np.float32)) / np.asarray(preparation.deviation, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1))


def _from_file(path: Path) -> "Pixels":
    from PIL import Image

    with Image.open(path) as opened:
        opened.load()
        if opened.mode.startswith(("I", "F")):  # Pillow would cut every value off at 255
            raise ValueError(f"its values have more than 8 bits (Pillow's mode {opened.mode})")
        return opened


def _from_array(array: np.ndarray) -> "Pixels":
    from PIL import Image

    if array.size and not 0 <= array.min() <= array.max() <= 255:
        raise ValueError(f"its values go from {array.min()} to {array.max()}, those of a picture from 0 to 255")
    return Image.fromarray(np.squeeze(array).astype(np.uint8))


def _as_input(path: Path, array: np.ndarray, spec: Spec) -> np.ndarray:
    if array.shape != spec.shape:
        raise UsageError(f"{path} has shape {array.shape}, the model takes {spec.axes} {spec.shape}")
    return array.astype(np.float32)
