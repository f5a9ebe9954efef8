"""Texts on the user's disk for models that predict the next word: FILE.txt, or FILE.bin of token ids.

Words are told apart by blanks, and a line ends with a word of its own, as in the published runs on the Penn Treebank
(TensorFlow's PTB tutorial). A vocabulary holds the most frequent words of what is learned from, by frequency and then
by the alphabet; all others are one word, 0. The last tenth is held back, as nanoGPT does. A .bin file holds ids as
nanoGPT writes them: unsigned 16-bit integers, low byte first.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from photofinish.data.sets import DataSet, Samples
from photofinish.errors import UsageError
from photofinish.graph import Graph

SUFFIXES = (".txt", ".bin")
HELD_BACK = 10  # one in so many tokens
LINE_END, UNKNOWN = "<eos>", "<unk>"  # the second is what published texts have in the place of rare words
PUBLISHED = ("any text will do; published ones: WikiText-2 (https://huggingface.co/datasets/Salesforce/wikitext), the "
             "Penn Treebank (https://catalog.ldc.upenn.edu/LDC99T42); token ids: as nanoGPT's prepare.py writes them "
             "(https://github.com/karpathy/nanoGPT)")


def read(path: Path, graph: Graph) -> DataSet:
    """Samples of as many words as the model takes, one after the other, each labelled with the word behind it. Raises
    UsageError."""
    (_, given), = graph.inputs
    length, vocabulary = given.size("T"), graph.spec(graph.losses[0].prediction).size("C")
    tokens, source = _ids(path, vocabulary) if path.suffix.lower() == ".bin" else _words(path, vocabulary)
    train, validation = (_cut(part, length, path) for part in _parted(tokens))
    return DataSet(path.name, train, validation, vocabulary, source)


def _parted(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept = len(tokens) - len(tokens) // HELD_BACK
    return tokens[:kept], tokens[kept:]


def _words(path: Path, vocabulary: int) -> tuple[np.ndarray, str]:
    try:
        words = path.read_text(encoding="utf-8").replace("\n", f" {LINE_END} ").split()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text in UTF-8: {error.reason} at byte {error.start}",
                         "token ids go into a file called .bin") from error
    train, _ = _parted(np.array(words, object))
    counts = Counter(train.tolist())
    ordered = sorted(counts.keys() - {UNKNOWN}, key=lambda word: (-counts[word], word))
    numbers = {word: number for number, word in enumerate(ordered[:vocabulary - 1], 1)}
    tokens = np.array([numbers.get(word, 0) for word in words], np.int32)
    return tokens, f"{path.name}: {len(words):,} words, {len(counts):,} different ones in what is learned from"


def _ids(path: Path, vocabulary: int) -> tuple[np.ndarray, str]:
    raw = path.read_bytes()
    if len(raw) % 2:
        raise UsageError(f"{path} holds {len(raw)} bytes, which are no whole 16-bit integers",
                         "write token ids as unsigned 16-bit integers, low byte first")
    tokens = np.frombuffer(raw, "<u2").astype(np.int32)
    if len(tokens) and int(tokens.max()) >= vocabulary:
        raise UsageError(f"{path} has a token {tokens.max()}, and the model knows {vocabulary:,} words",
                         "tokenise it for this vocabulary, or race a model that knows more words")
    return tokens, f"{path.name}: {len(tokens):,} token ids"


def _cut(tokens: np.ndarray, length: int, path: Path) -> Samples:
    count = (len(tokens) - 1) // length
    if count < 1:
        raise UsageError(f"{path} is too short: its last tenth must hold more than the {length} words of a sample",
                         f"take a text of {HELD_BACK * (length + 1):,} words or more, or a smaller --input")
    inputs, labels = (tokens[begin:begin + count * length].reshape(count, length) for begin in (0, 1))
    return Samples(np.ascontiguousarray(inputs), np.ascontiguousarray(labels))
