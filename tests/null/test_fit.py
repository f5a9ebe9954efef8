"""Whole trainings on the fake framework: the same curves, scripted times."""

from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from photofinish import api
from photofinish.errors import UsageError
from photofinish.reports import json as reports_json
from photofinish.runner.epochs import EpochLaunch
from photofinish.runner.process import Worker
from photofinish.stats.learning import agreements, divergence
from photofinish.values import Progress, Result

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
FAST = "fake:steady[noise=0.01,step=0.010]"
SLOW = "fake:steady[noise=0.01,step=0.013]"
CLASSES, TRAIN, VALIDATION = 3, 12, 5  # of each class


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes that differ in the mean of a channel, in the way that ImageNet is ordered."""
    made, noise = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for part, count in (("train", TRAIN), ("val", VALIDATION)):
        for label in range(CLASSES):
            (made / part / f"class{label}").mkdir(parents=True)
            for number in range(count):
                picture = noise.normal(size=(3, 6, 6)).astype(np.float32)
                picture[label] += 2
                np.save(made / part / f"class{label}" / f"{number}.npy", picture)
    return made


def fit(store: Path, folder: Path, *contenders: str, **options: object) -> Result:
    settings: dict[str, object] = {"data": f"folder:{folder}", "epochs": 3, "seeds": 3, "batch": 8, "seed": 1,
                                   "store": store}
    (result,) = api.race(MODEL, contenders, "fit", **{**settings, **options})  # type: ignore[arg-type]
    return result


@pytest.fixture(scope="module")
def result(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return fit(tmp_path_factory.mktemp("store"), folder, FAST, SLOW, target=0.3)


def test_the_time_of_whole_trainings_is_compared(result: Result) -> None:
    (verdict,) = result.verdicts
    assert result.comparable and verdict.verdict == "FASTER" and verdict.launches == 3
    assert verdict.ratio == pytest.approx(1.3, rel=0.03)
    assert result.standings[0].contender == FAST and result.standings[0].throughput is None
    assert f"{FAST} trains" in str(api.Outcome([result])) and "to 30 %" in str(api.Outcome([result]))


def test_what_is_drawn_for_a_training_is_gone_before_the_next(folder: Path, tmp_path: Path) -> None:
    seen: list[set[str]] = []

    def look(progress: Progress) -> None:
        if progress.stage == "block":
            seen.append({path.name for path in tmp_path.glob("race-*/data/*-[0-9].np[yz]")})
    fit(tmp_path, folder, FAST, SLOW, epochs=1, seeds=2, certify=False, listener=look)
    assert seen == [{"orders-1.npy", "state-1.npz"}, {"orders-2.npy", "state-2.npz"}]


def test_the_peak_of_a_training_is_that_of_its_epochs(folder: Path, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the samples to be judged by has a peak of its own, which is another's memory."""
    looked = EpochLaunch._look

    def look(self: EpochLaunch, worker: Worker, name: str, number: int) -> dict[str, Any]:
        return {**looked(self, worker, name, number), "memory": 1}
    monkeypatch.setattr(EpochLaunch, "_look", look)
    result = fit(tmp_path, folder, FAST, SLOW, epochs=2, seeds=1, certify=False)
    peaks = {each.name: each.memory for each in result.race.phases if each.contender == FAST and each.launch}
    assert peaks["first_step:fit"] > 1 and peaks["last_epoch:fit"] > 1


def test_every_epoch_of_every_launch_is_kept(result: Result) -> None:
    epochs = result.race.epochs
    assert {(each.launch, each.number, each.contender) for each in epochs} == {
        (launch, number, name) for launch in (1, 2, 3) for number in (1, 2, 3) for name in (FAST, SLOW)}
    assert all(each.steps == CLASSES * TRAIN // 8 for each in epochs)
    assert sorted(each.position for each in epochs) == [0] * 9 + [1] * 9
    assert not result.race.blocks


def test_contenders_share_weights_and_order_and_launches_do_not(result: Result) -> None:
    losses = {(each.launch, each.number, each.contender): each.first_losses for each in result.race.epochs}
    for launch in (1, 2, 3):
        assert losses[launch, 1, FAST] == losses[launch, 1, SLOW]
    assert len({losses[launch, 1, FAST] for launch in (1, 2, 3)}) == 3
    assert divergence(result.race) == {SLOW: (0.0,) * 4}


def test_what_computes_the_same_ends_equally_accurate(result: Result) -> None:
    (agreement,) = agreements(result.race)
    assert (agreement.verdict, agreement.difference, agreement.launches) == ("EQUIVALENT", 0.0, 3)
    last = [each for each in result.race.epochs if each.number == 3]
    first = [each for each in result.race.epochs if each.number == 1]
    assert np.mean([each.loss for each in last]) < np.mean([each.loss for each in first])


def test_final_guesses_are_compared(result: Result) -> None:
    (agreement,) = agreements(result.race)
    assert (agreement.same, agreement.same_least, agreement.same_most) == (1.0, 1.0, 1.0)
    assert [(each.launch, each.same, each.asked) for each in result.race.same_guesses] == [
        (launch, CLASSES * VALIDATION, CLASSES * VALIDATION) for launch in (1, 2, 3)]
    assert "given the same class by both" in str(api.Outcome([result]))


def test_guesses_that_differ_are_counted_sample_by_sample(folder: Path, tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: whoever looks second guesses another class of three samples, in the second launch of six."""
    taken: list[np.ndarray] = []

    def planted(launch: EpochLaunch, worker: Worker, file: Path) -> np.ndarray:
        taken.append(np.load(file))
        assert taken[-1].shape == (CLASSES * VALIDATION,) and set(taken[-1]) <= set(range(CLASSES))
        changed = taken[-1].copy()
        changed[:(len(taken) % 2 == 0) * 3 * launch.number] += 1
        return changed

    monkeypatch.setattr(EpochLaunch, "_read_guesses", planted)
    (agreement,) = reports_json.race(fit(tmp_path, folder, FAST, SLOW, seeds=2, certify=False))["agreements"]
    assert [agreement[key] for key in ("same", "same_least", "same_most")] == pytest.approx([0.7, 0.6, 0.8])
    assert agreement["verdict"] == "EQUIVALENT" and len(taken) == 4


def test_a_worker_that_leaves_no_guesses_is_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the first to look leaves none, the second too few."""
    plain, left = EpochLaunch._read_guesses, [np.zeros(3), None]

    def planted(launch: EpochLaunch, worker: Worker, file: Path) -> np.ndarray:
        file.unlink()
        guesses = left.pop()
        if guesses is not None:
            np.save(file, guesses)
        return plain(launch, worker, file)

    monkeypatch.setattr(EpochLaunch, "_read_guesses", planted)
    result = fit(tmp_path, folder, FAST, SLOW, seeds=1, epochs=1, certify=False)
    assert {each.kind for each in result.race.failures} == {"protocol"}
    assert ["can be read" in each.message for each in result.race.failures] == [True, False]


def test_its_json_conforms_to_the_schema(result: Result) -> None:
    found = reports_json.race(result)
    jsonschema.validate(found, reports_json.schema("race"), cls=jsonschema.Draft202012Validator)
    assert found["agreements"][0]["verdict"] == "EQUIVALENT"
    first = found["contenders"][0]
    assert first["seconds_per_step"] is None and first["seconds_of_training"]["value"] > 0
    assert len(first["epochs"]) == 9 and found["case"]["training"]["samples"] == CLASSES * TRAIN


def test_a_loss_that_is_no_number_is_a_result_and_the_others_go_on(folder: Path, tmp_path: Path) -> None:
    planted = "fake:steady[at=25,fault=nan,noise=0,step=1]"  # in the seventh epoch; the rehearsal takes fewer steps
    result = fit(tmp_path, folder, FAST, SLOW, planted, certify=False, seeds=2, epochs=7)
    (failure,) = result.race.failures
    assert (failure.contender, failure.kind, failure.phase) == (planted, "nan", "epoch:fit")
    assert "--task fit" in failure.command
    assert {each.contender for each in result.race.epochs if each.launch == 2} == {FAST, SLOW}


def test_a_target_that_is_missed_gives_no_time(folder: Path, tmp_path: Path) -> None:
    result = fit(tmp_path, folder, FAST, SLOW, target=1.0, epochs=1, seeds=2, certify=False)
    assert all(standing.time is None for standing in result.standings)
    assert "reached 1 of validation accuracy in 0 of 2 trainings" in str(api.Outcome([result]))


def test_a_model_of_words_learns_from_a_text(tmp_path: Path) -> None:
    """Each word but the last of a line tells the next: all of them are guessed once the rule is learned."""
    text = tmp_path / "book.txt"
    text.write_text("one two three four five six\n" * 100)
    (result,) = api.race(MODEL + "_language", (FAST, SLOW), "fit", data=str(text), epochs=6, seeds=2, target=0.99,
                         batch=8, seed=1, store=tmp_path, certify=False)
    training = result.race.case.training
    assert training is not None and (training.samples, training.validation) == (157, 17)  # of 630 and 70 words, by 4
    last = [each for each in result.race.epochs if each.number == 6]
    assert {each.validation_accuracy for each in last} == {1.0}
    assert all(each.validation_loss is not None and each.validation_loss < 0.1 for each in last)
    assert result.race.case.units == 4


@pytest.mark.parametrize(("options", "said"), [
    ({"task": ["train", "fit"]}, "a race of its own"),
    ({"task": "train", "epochs": 3}, "--task fit"),
    ({"data": "digist"}, "did you mean digits"),
    ({"data": "digits:/tmp"}, "takes no folder"),
    ({"data": "digits", "shape": (3, 6, 6)}, "1x8x8"),
    ({"data": "patterns", "batch": 5000}, "fewer than a batch"),
    ({"data": "patterns", "target": 97.0}, "no accuracy"),
    ({"data": "nowhere.txt"}, "spelled as a text, and .* takes images"),
    ({"model": MODEL + "_language", "data": "nowhere.txt"}, "there is no file"),
    ({"model": MODEL + "_language"}, "write --data FILE.txt"),
    ({"model": MODEL + "_language", "data": "digits"}, "holds images, .* takes words"),
])
def test_wrong_use_is_told_at_once(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        api.race(**{"model": MODEL, "contenders": (FAST, SLOW), "task": "fit", "store": tmp_path,  # type: ignore[arg-type]
                    **options})
