"""A user's pictures: prepared to the bit as the model's source does it, and what is wrong with a file or left out."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photofinish import models
from photofinish.errors import UsageError
from photofinish.files import images
from photofinish.layers import Spec
from photofinish.models import Preparation

pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

GREY = Preparation(1.0, (0.0,), (1.0,), "L")
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
RESAMPLE = {"bilinear": pillow.Resampling.BILINEAR, "bicubic": pillow.Resampling.BICUBIC}
SIZES = ((341, 256), (256, 341), (257, 391), (400, 301), (333, 333), (100, 37), (37, 100), (61, 90), (500, 375),
         (299, 300), (225, 224), (1024, 681))
ZOO = {name: entry for name, entry in models.all_models().items()
       if entry.task == "classification" and entry.inputs[0][1].axes == "CHW"}


def picture(width: int, height: int) -> Any:
    """Colours that change everywhere, so that a pixel's shift shows."""
    drawn = np.random.RandomState(width * height).randint(0, 256, (6, 7, 3)).astype(np.uint8)
    return pillow.fromarray(drawn).resize((width, height), pillow.Resampling.BICUBIC)


def normalised(cropped: Any) -> np.ndarray:
    """to_tensor and normalize of torchvision 0.28, in its order."""
    values = np.asarray(cropped).transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    mean, deviation = (np.array(each, np.float32)[:, None, None] for each in (MEAN, DEVIATION))
    return (values - mean) / deviation


def center_crop(resized: Any, width: int, height: int) -> Any:
    """torchvision/transforms/functional.py, center_crop."""
    top, left = round((resized.height - height) / 2.0), round((resized.width - width) / 2.0)
    return resized.crop((left, top, left + width, top + height))


def torchvision(original: Any, resize: int, crop: int, resample: str) -> np.ndarray:
    """torchvision/transforms/_presets.py, ImageClassification, with functional.py, _compute_resized_output_size."""
    w, h = original.size
    short, long = (w, h) if w <= h else (h, w)
    new_short, new_long = resize, int(resize * long / short)
    new_w, new_h = (new_short, new_long) if w <= h else (new_long, new_short)
    return normalised(center_crop(original.resize((new_w, new_h), RESAMPLE[resample]), crop, crop))


@pytest.mark.parametrize("resample", RESAMPLE)
@pytest.mark.parametrize(("side", "share", "resize"), [
    (224, 0.875, 256), (224, 224 / 236, 236), (299, 299 / 342, 342), (64, 1.0, 64),
    (299, 0.875, math.floor(299 / 0.875)), (299, 0.8975, 333), (224, 0.95, 235),  # timm rounds the short side down
])
def test_pictures_are_prepared_to_the_bit_as_torchvision_does_it(side: int, share: float, resize: int,
                                                                 resample: str) -> None:
    spec, preparation = Spec("CHW", (3, side, side)), Preparation(share, MEAN, DEVIATION, "RGB", resample)
    for size in SIZES:
        original = picture(*size)
        np.testing.assert_array_equal(images.prepared(original, spec, preparation),
                                      torchvision(original, resize, side, resample), err_msg=str(size))


def test_a_side_comes_back_from_the_share_of_it() -> None:
    """A user who writes 224 / 354 means 354 pixels; in floating point the quotient of the two is less."""
    assert 224 / (224 / 354) < 354
    assert images._resized(500, 500, 224, 224, 224 / 354) == (354, 354)


def test_an_input_that_is_no_square_is_prepared_as_timm_does_it() -> None:
    spec, preparation = Spec("CHW", (3, 48, 33)), Preparation(0.875, MEAN, DEVIATION)
    for size in SIZES:
        original = picture(*size)
        target_h, target_w = (math.floor(side / 0.875) for side in (48, 33))  # timm/data/transforms_factory.py
        img_h, img_w = original.height, original.width  # ResizeKeepRatio.get_params, with longest=0
        ratio = min(img_h / target_h, img_w / target_w)
        new_h, new_w = (round(side / ratio) for side in (img_h, img_w))
        resized = original.resize((new_w, new_h), RESAMPLE["bilinear"])
        np.testing.assert_array_equal(images.prepared(original, spec, preparation),
                                      normalised(center_crop(resized, 33, 48)), err_msg=str(size))


# Of the zoo's sources: the short side that is resized to, the kind of resampling, the mean of each channel
SOURCES = {
    "mobilenet_v1": (256, "bicubic", (0.5, 0.5, 0.5)),  # timm 1.0.31, mobilenetv1_100.ra4_e3600_r224_in1k
    "se_resnet50": (235, "bicubic", MEAN),  # timm, seresnet50.a1_in1k: 224 / 0.95
    "se_resnext50": (256, "bicubic", MEAN),  # timm, seresnext50_32x4d.racm_in1k
    "se_resnet50_v1": (256, "bilinear", MEAN),  # Cadene's, as the next: TransformImage with a scale of 0.875
    "senet154": (256, "bilinear", MEAN),
    "dpn92_cadene": (256, "bilinear", (124 / 255, 117 / 255, 104 / 255)),
    "dpn92": (256, "bicubic", (124 / 255, 117 / 255, 104 / 255)),  # timm, dpn92.mx_in1k
    "nasnet_a_large_cadene": (378, "bilinear", (0.5, 0.5, 0.5)),
    "nasnet_a_large": (363, "bicubic", (0.5, 0.5, 0.5)),  # timm, nasnetalarge.tf_in1k: 331 / 0.911
    "pnasnet5_large_cadene": (378, "bilinear", (0.5, 0.5, 0.5)),
    "inception_v3": (342, "bilinear", (0.5, 0.5, 0.5)),  # torchvision, Inception_V3_Weights.IMAGENET1K_V1
    "inception_v4": (341, "bicubic", (0.5, 0.5, 0.5)),  # timm, inception_v4.tf_in1k
    "alexnet_2012": (256, "bilinear", MEAN),  # the paper's section 2
}


@pytest.mark.parametrize("model", SOURCES)
def test_pictures_are_prepared_as_the_source_of_the_model_says(model: str) -> None:
    entry = models.find(model)
    given, side = entry.preparation, entry.inputs[0][1].size("H")
    assert (images._resized(999, 999, side, side, given.crop)[0], given.resample, given.mean) == SOURCES[model]


@pytest.mark.parametrize("model", ["alexnet_cifar10", "resnet56_cifar10"])
def test_a_cifar_picture_is_evaluated_whole(model: str) -> None:
    """As in He et al. 2015, section 4.2, and dlbench's scripts: 32 x 32, and nothing of it cut off."""
    entry, original = models.find(model), picture(32, 32)
    given = entry.preparation
    wanted = (np.asarray(original, np.float64) / 255 - given.mean) / given.deviation
    found = images.prepared(original, entry.inputs[0][1], given)
    np.testing.assert_allclose(found, wanted.transpose(2, 0, 1), atol=1e-5)


def test_a_digit_for_lenet_lies_in_a_field_of_32_pixels() -> None:
    """LeCun et al. 1998, section II.B: 28 pixels in 32, the background at -0.1 and the foreground at 1.175."""
    digit = np.zeros((28, 28), np.uint8)
    digit[0, 0], digit[27, 27] = 255, 51
    entry = models.find("lenet5")
    found = images.prepared(pillow.fromarray(digit), entry.inputs[0][1], entry.preparation)
    assert found.shape == (1, 32, 32)
    assert found[0, 2, 2] == pytest.approx(1.175) and found[0, 29, 29] == pytest.approx(0.2 * 1.275 - 0.1)
    assert np.count_nonzero(np.abs(found + 0.1) > 1e-6) == 2


@pytest.mark.parametrize("model", ZOO)
def test_every_classifier_of_the_zoo_takes_pictures(model: str) -> None:
    entry = ZOO[model]
    spec = entry.inputs[0][1]
    found = images.prepared(picture(40, 30), spec, entry.preparation)
    assert found.shape == spec.shape and found.dtype == np.float32 and np.isfinite(found).all()


def test_a_border_that_does_not_fit_is_told() -> None:
    with pytest.raises(UsageError, match="border of 4 pixels does not fit into a picture of 8 x 8"):
        images.prepared(picture(9, 9), Spec("CHW", (1, 8, 8)), Preparation(1.0, (0.0,), (1.0,), "L", border=4))


@pytest.mark.parametrize("suffix", [".png", ".gif", ".webp", ".bmp", ".tiff", ".ppm"])
def test_what_pillow_reads_is_a_picture(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "0").mkdir()
    path = tmp_path / "0" / f"a{suffix}"
    options = {"lossless": True} if suffix == ".webp" else {}
    pillow.fromarray(np.full((8, 8, 3), 40, np.uint8)).save(path, **options)
    (found,) = images.find(tmp_path, 1)
    assert found.path == path
    np.testing.assert_array_equal(images.load(path, Spec("CHW", (1, 8, 8)), GREY), np.float32(40) / np.float32(255)
                                  * np.ones((1, 8, 8), np.float32))


def test_what_is_left_out_is_told_with_how_many_and_why(tmp_path: Path) -> None:
    (tmp_path / "0" / "inner").mkdir(parents=True)
    for name in ("0/a.png", "0/inner/b.png", "c.png", "d.png"):
        picture(8, 8).save(tmp_path / name)
    assert len(images.find(tmp_path, 1)) == 1
    for name in ("0/e.heic", "0/f.txt", "0/Thumbs.db", "0/.hidden", "0/noise", "notes.txt"):
        (tmp_path / name).touch()
    loose, strange, inner = images.left_out(tmp_path)
    assert loose == f"left out in {tmp_path} itself: 2 pictures (put each into the folder of its class)"
    assert strange.startswith("left out in the folders of classes: 4 files, .db, .heic, .txt, without a suffix "
                              "(pictures are .png, .jpg,")
    assert inner == (f"left out below the folders of classes: 1 folder, {tmp_path}/0/inner the first (put pictures "
                     "into the folder of their class)")


def test_nothing_is_told_where_nothing_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    picture(8, 8).save(tmp_path / "0" / "a.png")
    (tmp_path / "labels.txt").touch()
    assert images.left_out(tmp_path) == ()


@pytest.mark.parametrize(("values", "count"), [([np.nan, 0.0], 1), ([np.nan, np.inf], 2), ([0.0, 1e300], 1)])
def test_an_input_with_what_is_no_number_is_refused(tmp_path: Path, values: list[float], count: int) -> None:
    array = np.zeros((1, 4, 2))
    array[0, 0] = values
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(UsageError, match=f"a.npy has {count} of 8 values that are no finite numbers"):
        images.load(tmp_path / "a.npy", Spec("CHW", (1, 4, 2)), GREY)


@pytest.mark.parametrize("shape", [(3, 9, 8), (4, 9, 8), (1, 3, 9, 8)])
def test_bytes_with_their_channels_first_are_told(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "a.npy", np.zeros(shape, np.uint8))
    with pytest.raises(UsageError, match=r"a\.npy has shape .*: its channels come first") as caught:
        images.load(tmp_path / "a.npy", Spec("CHW", (3, 8, 8)), Preparation())
    assert "np.moveaxis(array, -3, -1)" in caught.value.hint
    np.save(tmp_path / "a.npy", np.moveaxis(np.zeros(shape, np.uint8), -3, -1))
    assert images.load(tmp_path / "a.npy", Spec("CHW", (3, 8, 8)), Preparation()).shape == (3, 8, 8)


@pytest.mark.parametrize("array", [np.zeros(72, np.uint8), np.zeros((1, 72), np.uint8), np.zeros((9, 8), np.complex64)])
def test_what_is_no_picture_of_bytes_is_told(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(UsageError, match=r"a\.npy.*its shape is .* that of a picture \(H, W\) or \(H, W, C\) of bytes"):
        images.load(tmp_path / "a.npy", Spec("CHW", (3, 8, 8)), Preparation())


@pytest.mark.parametrize("shape", [(9, 8), (1, 9, 8), (9, 8, 1), (9, 8, 3), (9, 8, 4), (3, 9, 3)])
def test_bytes_with_their_channels_last_are_a_picture(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "a.npy", np.full(shape, 7, np.uint8))
    assert images.load(tmp_path / "a.npy", Spec("CHW", (3, 8, 8)), Preparation()).shape == (3, 8, 8)


def test_only_what_goes_wrong_in_reading_is_the_picture_s_fault(tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    picture(8, 8).save(tmp_path / "a.png")

    def broken(*asked: Any) -> Any:
        raise ZeroDivisionError("of ours")
    monkeypatch.setattr(images, "prepared", broken)
    with pytest.raises(ZeroDivisionError):
        images.load(tmp_path / "a.png", Spec("CHW", (1, 8, 8)), GREY)
    with pytest.raises(UsageError, match=r"cannot read .*gone\.png: No such file"):
        images.load(tmp_path / "gone.png", Spec("CHW", (1, 8, 8)), GREY)


def test_a_line_of_pixels_is_refused_before_it_takes_all_memory(tmp_path: Path) -> None:
    pillow.new("L", (20_000, 2)).save(tmp_path / "a.png")
    with pytest.raises(UsageError, match=r"a\.png has 20,000 x 2 pixels, one side more than 1,000 times the other"):
        images.load(tmp_path / "a.png", Spec("CHW", (1, 224, 224)), GREY)
