"""Data sets: those that come along, and the published formats on the user's disk."""

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from photofinish.data.sets import digits, orders, patterns
from photofinish.errors import UsageError
from photofinish.files import images
from photofinish.files.datasets import find
from photofinish.graph import Graph
from photofinish.layers import Spec
from photofinish.models import Preparation
from photofinish.models import find as find_model
from photofinish.runner.arrange import make_training, training_source


def net(shape: tuple[int, ...], classes: int | None = None) -> Graph:
    return find_model("digits_cnn").graph(shape, classes)


def test_digits_are_whole_standardised_and_always_the_same() -> None:
    found = digits()
    assert found.train.inputs.shape == (1438, 1, 8, 8) and found.validation.inputs.shape == (359, 1, 8, 8)
    assert found.train.inputs.dtype == np.float32 and found.train.labels.dtype == np.int32
    counts = np.bincount(np.concatenate([found.train.labels, found.validation.labels]))
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # scikit-learn's own
    assert abs(found.train.inputs.mean()) < 1e-4 and found.train.inputs.std() == pytest.approx(1, abs=1e-4)
    assert found.digest == digits().digest != patterns((1, 8, 8)).digest


def test_patterns_are_the_same_task_at_every_size() -> None:
    small, large = patterns((1, 8, 8), 50, 20), patterns((3, 16, 24), 50, 20)
    assert large.train.inputs.shape == (50, 3, 16, 24)
    assert np.array_equal(small.train.labels, large.train.labels)
    np.testing.assert_allclose(large.train.inputs[:, 1, ::2, ::3], small.train.inputs[:, 0], atol=1e-5)


def test_there_are_as_many_kinds_of_patterns_as_the_model_tells_apart() -> None:
    for classes in (2, 10):
        found = find("patterns:40").read(net((1, 8, 8), classes), Preparation())
        assert found.classes == classes and set(found.train.labels) <= set(range(classes))
        assert len(set(found.train.labels)) > classes / 2
    assert find("patterns").fewest == 2


def test_every_epoch_has_an_order_of_its_own() -> None:
    found = orders(10, 3, seed=1)
    assert [sorted(row) for row in found.tolist()] == [list(range(10))] * 3
    assert len({tuple(row) for row in found.tolist()}) == 3
    assert not np.array_equal(found, orders(10, 3, seed=2))


def write_mnist(folder: Path, packed: bool) -> np.ndarray:
    images = np.arange(5 * 28 * 28, dtype=np.uint8).reshape(5, 28, 28)
    for word in ("train", "t10k"):
        for kind, head, body in (("images-idx3", [2051, 5, 28, 28], images), ("labels-idx1", [2049, 5], np.arange(5))):
            raw = np.array(head, ">i4").tobytes() + body.astype(np.uint8).tobytes()
            path = folder / f"{word}-{kind}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(raw) if packed else raw)
    return images


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_as_it_is_published(tmp_path: Path, packed: bool) -> None:
    images = write_mnist(tmp_path, packed)
    source = find(f"mnist:{tmp_path}")
    found = source.read(net((1, 28, 28)), Preparation())
    assert source.shape == (1, 28, 28) and found.train.labels.tolist() == [0, 1, 2, 3, 4]
    expected = (images - images.mean()) / images.std()
    np.testing.assert_allclose(found.validation.inputs[:, 0], expected, atol=1e-4)


def test_mnist_is_framed_for_a_model_that_asks_for_a_border(tmp_path: Path) -> None:
    write_mnist(tmp_path, packed=False)
    spelled = f"mnist:{tmp_path}"
    source, lenet = training_source(spelled, "lenet5", None, None), find_model("lenet5")
    assert source.shape == (1, 32, 32) and training_source(spelled, "fcn5", None, None).shape == (1, 28, 28)
    framed = source.read(lenet.graph(source.shape, source.classes), lenet.preparation).train.inputs
    plain = find(spelled).read(net((1, 28, 28)), Preparation()).train.inputs
    assert framed.shape == (5, 1, 32, 32) and (framed[:, :, [0, 1, -2, -1]] == framed[0, 0, 0, 0]).all()
    assert framed[0, 0, 0, 0] == framed.min()  # black
    assert np.corrcoef(framed[:, :, 2:-2, 2:-2].ravel(), plain.ravel())[0, 1] == pytest.approx(1)


@pytest.mark.parametrize(("name", "files", "labels"), [
    ("cifar10", [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"], 1),
    ("cifar100", ["train.bin", "test.bin"], 2),
])
def test_cifar_as_it_is_published(tmp_path: Path, name: str, files: list[str], labels: int) -> None:
    noise = np.random.default_rng(0)
    for file in files:
        rows = noise.integers(0, 256, (3, labels + 3072), dtype=np.uint8)
        rows[:, :labels] = [[1, 7][:labels], [0, 8][:labels], [1, 9][:labels]]
        rows.tofile(tmp_path / file)
    found = find(f"{name}:{tmp_path}").read(net((3, 32, 32)), Preparation())
    assert found.train.inputs.shape == (3 * (len(files) - 1), 3, 32, 32)
    assert found.validation.labels.tolist() == ([1, 0, 1] if labels == 1 else [7, 8, 9])  # CIFAR-100: the fine ones
    last = rows[0, labels:].reshape(3, 32, 32)
    assert np.corrcoef(found.validation.inputs[0, 2].ravel(), last[2].ravel())[0, 1] == pytest.approx(1)


def test_a_cifar_file_with_a_class_that_there_is_not_is_named(tmp_path: Path) -> None:
    for file in (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"):
        rows = np.zeros((3, 3073), np.uint8)
        rows[1, 0] = 200 if file == "data_batch_4.bin" else 9
        rows.tofile(tmp_path / file)
    with pytest.raises(UsageError, match=r"data_batch_4\.bin has a class 200, where there are 10"):
        find(f"cifar10:{tmp_path}").read(net((3, 32, 32)), Preparation())


@pytest.mark.parametrize(("text", "said"), [
    ("mnist:{}", "train-images-idx3-ubyte or train-images-idx3-ubyte.gz of MNIST.*published at"),
    ("cifar10:{}", "data_batch_1.bin of CIFAR-10.*cs.toronto.edu"),
    ("cifar100:{}", "train.bin of CIFAR-100"),
    ("folder:{}", "has no folder train"),
    ("mnist:{}/nowhere", "no folder"),
    ("mnist", "mnist:FOLDER"),
    ("mnits", "did you mean mnist"),
    ("{}/book.txt", "no file.*book.txt.*WikiText-2"),
    ("{}/book.bin", "no file.*nanoGPT"),
])
def test_what_is_missing_is_named_with_where_it_is_published(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(text.format(tmp_path))
    assert re.search(said, str(caught.value), re.DOTALL)


def test_a_file_that_is_cut_short_is_named(tmp_path: Path) -> None:
    write_mnist(tmp_path, packed=False)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match="no whole idx file"):
        find(f"mnist:{tmp_path}").read(net((1, 28, 28)), Preparation())


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-9], lambda raw: raw[:10] + b"x" * 40, lambda raw: b"no gzip"])
def test_a_packed_file_that_is_broken_is_named(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    write_mnist(tmp_path, packed=True)
    path = tmp_path / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UsageError, match=r"labels-idx1-ubyte\.gz cannot be unpacked"):
        find(f"mnist:{tmp_path}").read(net((1, 28, 28)), Preparation())


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    write_mnist(tmp_path, packed=False)
    source = find(f"mnist:{tmp_path}")
    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(UsageError, match=r"cannot read .*train-images-idx3-ubyte: Permission denied"):
        source.read(net((1, 28, 28)), Preparation())


@pytest.mark.parametrize(("labels", "said"), [
    (np.arange(4), "5 x 28 x 28 pixels with 4 labels"), (np.full(5, 10), "5 labels up to 10"),
])
def test_files_of_another_set_are_not_taken_for_mnist(tmp_path: Path, labels: np.ndarray, said: str) -> None:
    write_mnist(tmp_path, packed=False)
    raw = np.array([2049, len(labels)], ">i4").tobytes() + labels.astype(np.uint8).tobytes()
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(raw)
    with pytest.raises(UsageError, match=said):
        find(f"mnist:{tmp_path}").read(net((1, 28, 28)), Preparation())


def write_pictures(folder: Path, *classes: str) -> None:
    """One of 8x8 for each class, hidden files beside it."""
    for value, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        np.save(folder / name / "a.npy", np.full((1, 8, 8), value, np.float32))
        (folder / name / "._a.png").write_text("of another system")


def test_what_is_hidden_in_a_folder_is_neither_class_nor_picture(tmp_path: Path) -> None:
    write_pictures(tmp_path / "train", "cat", "dog", ".ipynb_checkpoints")
    write_pictures(tmp_path / "val", "cat", "dog")
    source = find(f"folder:{tmp_path}")
    found = source.read(net((1, 8, 8)), Preparation())
    assert source.classes == 2 and found.train.labels.tolist() == found.validation.labels.tolist() == [0, 1]
    assert source.left_out == ()


def test_a_folder_without_classes_is_told(tmp_path: Path) -> None:
    for name in ("train", "val"):
        (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match=r"train has no folders in it"):
        find(f"folder:{tmp_path}")


def test_a_class_that_nobody_learns_is_no_other_class(tmp_path: Path) -> None:
    """Classes have the numbers of their places by name: "cats" would be counted as "cat"."""
    write_pictures(tmp_path / "train", "cat", "dog")
    write_pictures(tmp_path / "val", "cats", "dog")
    with pytest.raises(UsageError, match=r"train has a class cat, which .*val has not"):
        find(f"folder:{tmp_path}")
    (tmp_path / "val" / "cats").rename(tmp_path / "val" / "cat")
    write_pictures(tmp_path / "train", "emu")
    with pytest.raises(UsageError, match=r"train has a class emu, which .*val has not"):
        find(f"folder:{tmp_path}")
    (tmp_path / "val" / "emu").mkdir()
    assert find(f"folder:{tmp_path}").read(net((1, 8, 8)), Preparation()).validation.labels.tolist() == [0, 1]


def test_folders_that_are_numbered_tell_as_many_classes_apart_as_their_largest_number(tmp_path: Path) -> None:
    for part in ("train", "val"):
        write_pictures(tmp_path / part, "1", "3")
    source = find(f"folder:{tmp_path}")
    assert source.classes == 4 and source.read(net((1, 8, 8)), Preparation()).train.labels.tolist() == [1, 3]


def test_a_model_tells_the_classes_of_its_data_apart(tmp_path: Path) -> None:
    """One of the user's own may have a head of its own: then nobody sets its classes."""
    plain = tmp_path / "plain.py"
    plain.write_text("from photofinish.vocabulary import *\ndef model(image):\n    return linear(flatten(image), 7)\n")
    assert training_source("digits", f"{plain}", (1, 8, 8), None).classes is None
    with pytest.raises(UsageError, match=r"digits has a class 9, the model tells 7 apart"):
        make_training("fit", digits(), find_model(str(plain)).graph((1, 8, 8)), "digits", 8, None, None, 0.01)


def broken_pictures(folder: Path) -> Iterator[Path]:
    arrays = {"shape": np.zeros((8, 8, 5), np.uint8), "deep": np.full((8, 8), 300, np.uint16)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        yield folder / f"{name}.npy"
    (folder / "empty.npy").touch()
    yield folder / "empty.npy"
    with (folder / "archive.npy").open("wb") as file:
        np.savez(file, a=np.zeros(1))
    yield folder / "archive.npy"
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pillow.fromarray(np.full((8, 8), 40_000, np.uint16)).save(folder / "deep.png")
    yield folder / "deep.png"


def test_a_picture_that_is_none_is_named(tmp_path: Path) -> None:
    for path in broken_pictures(tmp_path):
        with pytest.raises(UsageError, match=f"cannot read the picture .*{path.name}"):
            images.load(path, Spec("CHW", (1, 8, 8)), Preparation(1.0, (0.0,), (1.0,), "L"))


def language_model(length: int = 4, vocabulary: int = 5) -> Graph:
    return find_model("lstm_lm_small").graph((length,), vocabulary=vocabulary, features=3)


def test_a_text_is_cut_into_samples_labelled_with_the_words_behind(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("a b a c\n" * 20)  # 100 words: a 40 times, the others 20 times each
    source = find(str(path))
    found = source.read(language_model(vocabulary=4), Preparation())
    assert (source.axes, source.classes) == ("T", None) and "100 words, 4 different" in found.source
    # by frequency, then by the alphabet: 0 is all others, 1 a, 2 <eos>, 3 b; c finds no room
    assert found.train.inputs.tolist()[:2] == [[1, 3, 1, 0], [2, 1, 3, 1]]
    assert found.train.labels.tolist()[:2] == [[3, 1, 0, 2], [1, 3, 1, 0]]
    assert found.train.inputs.shape == (22, 4) and found.validation.inputs.shape == (2, 4)  # of 90 and 10
    assert found.train.inputs.dtype == found.train.labels.dtype == np.int32


def test_token_ids_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "book.bin"
    tokens = np.arange(100) % 5
    tokens.astype("<u2").tofile(path)
    found = find(str(path)).read(language_model(), Preparation())
    for samples, expected in zip(found.train, (tokens[:88], tokens[1:89])):
        assert np.array_equal(samples.ravel(), expected)


@pytest.mark.parametrize(("name", "content", "said"), [
    ("short.txt", b"a b c", "too short.*50 words or more"),
    ("odd.bin", b"abc", "no whole 16-bit"),
    ("large.bin", np.full(100, 7, "<u2").tobytes(), "a token 7, and the model knows 5 words"),
    ("latin.txt", "caf\u00e9 ".encode("latin-1") * 50, "no text in UTF-8"),
])
def test_a_text_that_cannot_be_used_is_told(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        find(str(tmp_path / name)).read(language_model(), Preparation())
    assert re.search(said, str(caught.value), re.DOTALL)
