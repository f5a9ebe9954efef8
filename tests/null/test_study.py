"""Studies on the fake framework: planned, run, killed, resumed, and what a malformed file is told."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path

import jsonschema
import pytest
import tomllib
from benchmarks.study_kills import cells, killed, sessions

from conftest import Run
from photofinish import api, models, study
from photofinish.errors import UsageError
from photofinish.render import markdown
from photofinish.reports.json import schema
from photofinish.reports.study import as_json, document, plan
from photofinish.runner import arrange
from photofinish.runner.arrange import training_source
from photofinish.study import names, reading
from photofinish.values import WHOLE, Link, Progress
from photofinish.verbs import study as verb

TINY = str(Path(__file__).parent / "tiny.py") + ":tiny"
FILE = f'''[study]
title = "A small study"
question = "Does the batch matter?"
contenders = ["fake:steady[step=0.001]", "fake:steady[step=0.002]"]
launches = 2
budget = 5

[study.scale.small]
launches = 1

[[races]]
name = "by batch"
models = ["{TINY}"]
batches = [8, 16, 32]
except = [{{ batch = 32, reason = "too long here" }}]

[races.scale.small]
batches = [8]

[races.published]
source = "a figure"
a = "fake:steady[step=0.001]"
b = "fake:steady[step=0.002]"

[[races]]
name = "inference"
models = ["{TINY}", "digits_cnn"]
tasks = ["infer"]
batches = [9]
except = [{{ model = "digits_cnn", reason = "it takes long to certify" }}]
device = "cpu"
'''
KILLS = 4
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def test_who_would_add_to_another_machines_races_is_warned(file: Path, tmp_path: Path, command: Callable[..., Run],
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the races that are asked for are none of those."""
    asked = ("study", "run", str(file), "--store", str(tmp_path / "store"), "--no-env", "--only")
    assert command(*asked, "batch 8,", "--quiet").err == ""
    assert "another machine" not in command(*asked, "batch 16,", "--dry-run").out
    monkeypatch.setattr("photofinish.reports.provenance.facts", lambda: {"cpu": "another"})
    for only in ("batch 16,", "inference"):
        assert "(1 on " in command(*asked, only, "--dry-run").out
    assert "another machine" not in command(*asked, "batch 8,", "--dry-run").out  # nothing is left to add


def test_a_grid_is_planned_with_its_exceptions(file: Path) -> None:
    found = study.read(file)
    assert [(each.group, each.batch, each.skip) for each in found.races] == [
        ("by batch", 8, ""), ("by batch", 16, ""), ("by batch", 32, "too long here"),
        ("inference", 9, ""), ("inference", 9, "it takes long to certify")]
    assert len({each.key for each in found.races}) == 5
    assert {each.launches for each in found.races} == {2}
    small = study.read(file, "small")
    assert [each.batch for each in small.races] == [8, 9, 9] and {each.launches for each in small.races} == {1}


def test_what_is_done_is_not_done_again(file: Path, tmp_path: Path) -> None:
    found = study.read(file, "small")
    assert [each.pending for each in verb.outcome(found, tmp_path / "store")] == [True, True, False]
    first = verb.run(found, only=["by batch"], store=tmp_path / "store")
    assert [bool(each.results) for each in first] == [True, False, False]
    second = verb.run(found, store=tmp_path / "store")
    assert [bool(each.results) for each in second] == [True, True, False]
    assert first[0].results[0].race.id == second[0].results[0].race.id
    told = as_json(found, second)
    jsonschema.validate(told, schema("study"))
    assert told["races"][0]["results"][0]["verdict"]["verdict"] in ("FASTER", "UNDECIDED")
    assert document(found, second).subtitle == "2 of 3 races run, 1 left out"
    assert document(found, first).sections[0].blocks[0].label == "NOT COMPLETE"  # type: ignore[union-attr]
    assert plan(found, second).sections


def test_what_was_run_where_it_can_be_stands_in_reports_made_elsewhere(file: Path, tmp_path: Path) -> None:
    """But what the study itself leaves out does not, though it was run once."""
    found, store = study.read(file, "small"), tmp_path / "store"
    verb.run(found, only=["by batch"], store=store)
    ran, other = found.races[:2]
    for there, state, told in ((replace(ran, skip="no GPU here"), "1 of 2 races run, 1 left out", True),
                               (replace(ran, skip="too long", excepted=True), "0 of 2 races run, 2 left out", False)):
        here = replace(found, races=(there, replace(other, skip="no GPU here")))
        settled = verb.outcome(here, store)
        shown = document(here, settled)
        assert shown.subtitle == state and ("UNDECIDED" in str(shown)) is told
        assert as_json(here, settled)["races"][0]["state"].startswith("done" if told else "left out")
        assert str(plan(here, settled)).count("no GPU here") == 1


def test_words_narrow_a_study_and_one_that_no_race_has_is_told(file: Path, tmp_path: Path) -> None:
    found = study.read(file, "small")
    assert [each.model for each in verb.narrowed(found, ["INFER", "digits"]).races] == ["digits_cnn"]
    for words in (["resnet81"], ["by batch", "digits_cnn"]):
        with pytest.raises(UsageError, match=r"by batch, inference; its models: .*digits_cnn"):
            verb.run(found, only=words, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_the_largest_batch_of_all_may_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search itself: test_largest. Here it has found 12."""
    asked: list[int | str] = []
    plain, path = api.race, tmp_path / "largest.toml"

    def race(*given: object, batch: int | str, **options: object) -> api.Outcome:
        asked.append(batch)
        return plain(*given, batch=12, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(api, "race", race)
    path.write_text(f"""[study]
title = "The largest"
question = "Who is faster where memory ends?"
contenders = ["fake:steady[step=0.001]", "fake:steady[step=0.002]"]
launches = 1
budget = 5

[[races]]
models = ["{TINY}"]
batches = ["max", 8]
except = [{{ batch = 8, reason = "not asked" }}]
""")
    found, store = study.read(path), tmp_path / "store"
    assert "the search for it: up to 12 trials" in markdown.render([plan(found, verb.outcome(found, store))])
    done = verb.run(found, store=store)
    (result,) = done[0].results
    assert result.race.case.batch == 12 and done[1].reason == "not asked"
    told = as_json(found, done)
    jsonschema.validate(told, schema("study"))
    assert [each["batch"] for each in told["races"]] == ["max", 8] and "batch max" in found.races[0].title
    assert "12 (max)" in markdown.render([document(found, [done[0], replace(done[0], planned=found.races[1])])])
    again = verb.run(found, store=store)
    assert again[0].results[0].race.id == result.race.id and asked == ["max"]


def test_a_race_of_several_days_is_run_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, store = tmp_path / "days.toml", tmp_path / "store"
    path.write_text(FILE.replace("batches = [8, 16, 32]", "batches = [8, 32]\ndays = 2"))
    found = study.read(path, "small")
    assert [each.day for each in found.races] == [1, 2, None, None] and len({each.key for each in found.races}) == 4
    done = [[each.pending for each in verb.run(found, only=["by batch"], store=store)] for _ in range(2)]
    assert done == [[False, True, True, False]] * 2
    known = verb.outcome(found, store)
    asked = verb.narrowed(found, ["by batch"])
    assert "on another date" in markdown.render([plan(found, known, verb.due_today(asked, known))])

    class Tomorrow(date):
        @classmethod
        def today(cls) -> "Tomorrow":
            return cls.fromordinal(date.today().toordinal() + 1)

    monkeypatch.setattr(verb, "date", Tomorrow)
    settled = verb.run(found, only=["by batch"], store=store)
    assert [each.pending for each in settled] == [False, False, True, False]
    told = as_json(found, settled)
    jsonschema.validate(told, schema("study"))
    assert [each["day"] for each in told["races"]] == [1, 2, None, None]
    assert "day 2" in markdown.render([plan(found, settled)])


def test_the_day_that_is_asked_for_is_the_one_that_is_run(tmp_path: Path) -> None:
    """Another that is due and was not asked for takes no date from it."""
    path, store = tmp_path / "days.toml", tmp_path / "store"
    path.write_text(FILE.replace("batches = [8, 16, 32]", "batches = [8, 32]\ndays = 2"))
    found = study.read(path, "small")
    assert [each.pending for each in verb.run(found, only=["day 2"], store=store)][:2] == [True, False]


def test_what_cannot_be_raced_is_settled_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "impossible.toml"
    path.write_text(FILE.replace('device = "cpu"', "threads = 9999"))
    found = study.read(path, "small")
    settled = verb.run(found, only=["inference"], store=tmp_path / "store")
    assert "9999 threads" in settled[1].reason and not settled[1].pending


def test_a_batch_that_no_memory_holds_ends_no_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known before it is drawn, or by the refusal."""
    path, store = tmp_path / "large.toml", tmp_path / "store"
    path.write_text(FILE.replace("batches = [8]", "batches = [99999999999, 8]"))
    found = study.read(path, "small")
    told = "a batch of 99999999999 does not fit in this machine's memory"
    for foreseen in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(arrange, "_check_room", arrange._check_room if foreseen else lambda graph, batch: None)
            settled = verb.run(found, only=["by batch"], store=store)
        assert settled[0].reason == told and settled[1].results and not settled[1].reason
        assert not list(store.glob("race-*"))


def test_a_model_that_its_data_does_not_fit_ends_no_study(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(FILE.replace(f'"{TINY}", "digits_cnn"', '"vgg16", "digits_cnn"')
                    .replace('tasks = ["infer"]', 'tasks = ["fit"]\ndata = "digits"'))
    settled = verb.run(study.read(path, "small"), only=["inference"], store=tmp_path / "store")
    assert "vgg16 with input 1x8x8" in settled[1].reason and not settled[1].pending


def test_what_could_not_be_raced_is_tried_again(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UsageError("not today")

    found, store = study.read(file, "small"), tmp_path / "store"
    with monkeypatch.context() as patch:
        patch.setattr(api, "race", refuse)
        first = verb.run(found, store=store)
    assert [each.reason for each in first] == ["not today", "not today", "it takes long to certify"]
    assert "to be tried again: not today" in markdown.render([plan(found, first)])
    again = verb.run(found, store=store)
    assert [bool(each.results) for each in again] == [True, True, False] and not again[0].reason


@pytest.mark.parametrize("scale", ["", "small"])
@pytest.mark.parametrize("name", study.builtin())
def test_the_races_of_a_study_that_ships_can_be_made(name: str, scale: str) -> None:
    planned = study.find(name, scale).to_run()
    for data, model, shape, classes in {(each.data, each.model, each.shape, each.classes) for each in planned
                                        if each.tasks[0] in WHOLE}:
        assert training_source(data, model, shape, classes).axes
    for model, shape, classes in {(each.model, each.shape, each.classes) for each in planned}:
        assert models.find(model).graph(shape, classes).nodes


def test_killed_at_any_moment_it_goes_on_and_ends_like_one_that_was_not(file: Path, tmp_path: Path) -> None:
    """Of everything it started, watchdog included."""
    store, chance = tmp_path / "store", random.Random(5)
    command = [sys.executable, "-m", "photofinish", "study", "run", str(file), "--scale", "small", "--quiet", "--json",
               "--store", str(store)]
    found = study.read(file, "small")
    assert killed(found, command, store, [chance.uniform(0.2, 1.6) for _ in range(KILLS)]) == []
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [each["state"] for each in told["races"]] == ["done", "done", "left out: it takes long to certify"]
    seen: list[Progress] = []
    verb.run(found, store=tmp_path / "whole", listener=seen.append)
    first, second = (each.text for each in seen if re.match(r"race \d of", each.text))
    assert first.startswith("race 1 of 2: ") and re.match(r"race 2 of 2 \(about .+ s left\): ", second)
    assert cells(found, store) == cells(found, tmp_path / "whole")


def test_a_study_that_ends_before_it_is_killed_is_told(file: Path, tmp_path: Path) -> None:
    """And a race that is settled in another session than before."""
    found, store = study.read(file, "small"), tmp_path / "store"
    verb.run(found, only=["by batch"], store=store)
    ((key, (first,)),) = sessions(found, store).items()
    other = verb.race(found.races[0], store=store)
    settle = f"from pathlib import Path; from photofinish.store import Store; Store(Path({str(store)!r})).settle"
    (twice, early) = killed(found, [sys.executable, "-c", f"{settle}({key!r}, {other!r})"], store, [60.0])
    assert key in twice and first in twice and "over before kill 1" in early


MUTATIONS = [
    ("[study]", "[stduy]"), ("title =", "titel ="), ('title = "A small study"', ""), ("question =", "qestion ="),
    ('title = "A small study"', "title = 3"), ("launches = 2", "launches = 0"), ("launches = 2", "launches = 'two'"),
    ("launches = 2", "lanches = 2"), ("launches = 2", "launches = true"), ("budget = 5", "budget = -5"),
    ("budget = 5", 'budget = "5"'), ("budget = 5", "budgte = 5"), ("[study.scale.small]", "[study.sacle.small]"),
    ("launches = 1", "launches = 1.5"), ("launches = 1", "lunches = 1"), ("[[races]]", "[races]"),
    ("[[races]]", "[[rases]]"), ('name = "by batch"', "name = 7"), ('name = "by batch"', 'nmae = "by batch"'),
    ("models = [", "modles = ["), (f'models = ["{TINY}"]', "models = []"), (f'models = ["{TINY}"]', 'models = "x"'),
    ('"digits_cnn"', '"digits_cnm"'), ('"digits_cnn"', "8"), ("batches = [8, 16, 32]", "batches = [8, 0]"),
    ("batches = [8, 16, 32]", 'batches = ["mix"]'),
    ("batches = [8, 16, 32]", "batches = 8"), ("batches = [8, 16, 32]", 'batches = ["8"]'),
    ("batches = [8, 16, 32]", "bathces = [8]"), ("batches = [8, 16, 32]", "days = 0"),
    ("batches = [8, 16, 32]", 'days = "3"'), ("except = [", "exept = ["),
    ("batch = 32, reason", "batch = 32, resaon"),
    ('reason = "too long here"', "reason = 1"), ("batch = 32,", "batches = 32,"), ("batch = 32,", 'batch = "32",'),
    ('except = [{ batch = 32, reason = "too long here" }]', "except = 3"),
    ("[races.scale.small]", "[races.scael.small]"),
    ("[races.published]", "[races.publisht]"), ('source = "a figure"', "source = []"), ('a = "fake', 'aa = "fake'),
    ('tasks = ["infer"]', 'tasks = ["infre"]'), ('tasks = ["infer"]', 'tasks = "infer"'),
    ('tasks = ["infer"]', "tasks = []"), ('device = "cpu"', "device = 0"), ('device = "cpu"', 'devise = "cpu"'),
    ('device = "cpu"', 'regime = "machted"'), ('device = "cpu"', 'inputs = ["3xa"]'),
    ('device = "cpu"', "inputs = [0]"),
    ('device = "cpu"', "precision = 2"), ('device = "cpu"', "margin = 0"), ('device = "cpu"', "classes = -1"),
    ("contenders = [", "contender = ["), ('contenders = ["fake:steady[step=0.001]", ', "contenders = ["),
    ('"fake:steady[step=0.001]", "', '"fake:steady[step=0.001", "'), ("question = ", "question "),
    ("[races.published]", "[races.published]\nratios = 3"),
    ("[races.published]", "[races.published]\nratios.x.y.z = []"),
    ("[races.published]", "[races.published]\nratios.digits_cnn = []"),
    ("[races.published]", "[races.published]\nratios.digits_cnn = -1.3"),
    ("launches = 2", "accuracy = 3"), ("launches = 2", 'accuracy.source = "me"'),
    ("launches = 2", 'accuracy = { source = "me", top1 = { resnet18 = 69 } }'),
    ("launches = 2", 'accuracy = { source = "me", top1 = { resnt18 = 0.69 } }'),
    ("launches = 2", 'accuracy = { sauce = "me", top1 = { resnet18 = 0.69 } }'),
    ('device = "cpu"', 'device = "cpu"\ndevices = ["cpu"]'), ('device = "cpu"', 'device = "rocm"'),
    ('device = "cpu"', 'device = "cpu:x"'), ('device = "cpu"', 'regime = "matched"\nregimes = ["matched"]'),
    ('device = "cpu"', 'link = "1gbit"\nlinks = ["100mbit"]'), ('device = "cpu"', 'link = "fast"'),
    ("[races.scale.small]", '[races.scale.small]\nregime = "matched"\nregimes = ["matched"]'),
    ('name = "inference"', 'name = "by batch"'),
]


@pytest.mark.parametrize(("written", "instead"), MUTATIONS, ids=lambda each: each[:40])
def test_a_malformed_study_is_told_where(tmp_path: Path, written: str, instead: str) -> None:
    assert FILE.count(written)
    path = tmp_path / "broken.toml"
    path.write_text(FILE.replace(written, instead, 1))
    with pytest.raises(UsageError) as refused:
        study.read(path, "small")
    assert str(path) in refused.value.message and "line" in refused.value.message and refused.value.hint


NAMES = [  # written, instead, the line on which it is told, and what is told
    ('["fake:steady[step=0.001]", ', '["torch:egaer", ', "contenders = ", "'egaer'.*did you mean eager"),
    ('["fake:steady[step=0.001]", ', '["torch:eager[layot=x]", ', "contenders = ", "'layot'.*did you mean layout"),
    ('["fake:steady[step=0.001]", ', '["toch", ', "contenders = ", "'toch'.*torch"),
    ('["fake:steady[step=0.001]", ', '["onnxruntime", ', "contenders = ", "needs two .*onnxruntime.* has it"),
    ("budget = 5", 'optimizer = "sdg"', "optimizer = ", "'sdg'.*sgd"),
    ("budget = 5", 'data = "digit"', "data = ", "'digit'.*digits"),
    ("budget = 5", 'data = "patterns:many"', "data = ", "patterns comes with .* takes no folder"),
    ('device = "cpu"', 'devices = ["gpu"]', "devices = ", "'gpu'.*cpu, cuda"),
    ('device = "cpu"', 'device = "cpuu"', "device = ", "'cpuu'.*cpu"),
    ('device = "cpu"', 'device = "cpu:1"', "device = ", "device cpu:1: .*one device.*write cpu"),
    ('name = "inference"', 'name = "inference"\nscale = 3', "scale = 3", "should be tables .*not 3"),
    ("[races.scale.small]", "[races.scale.small]\nbacthes = [4]", "bacthes", "'bacthes'.*batches"),
    ("[races.scale.small]", "[races.scale.small]\nmodels = ['resnet81']", "models = ['res", "no model.*resnet18"),
    ("launches = 1", 'launches = 1\ncontenders = ["torhc", "jax"]', 'contenders = ["torhc', "'torhc'.*torch"),
    ("{ batch = 32,", '{ model = "resnet18", batch = 32,', "except = ", "no model of this group is called 'resnet18'"),
    ("{ batch = 32,", "{ batch = 77,", "except = ", "no race of this group has batch 77.*8, 16, 32"),
    ('model = "digits_cnn", reason', 'input = "1x8x8", reason', "except = [{ input",
     "no race .* input 1x8x8.*model's own"),
    ('device = "cpu"', 'data = "digits"', "data = ", "those of whole trainings.*fit"),
    ('tasks = ["infer"]', 'tasks = ["infer", "fit"]', "tasks = ", "task fit is a race of its own"),
    ('tasks = ["infer"]', 'tasks = ["epoch"]\nepochs = 1', "epochs = ", "first epoch is a phase of its own"),
    ('tasks = ["infer"]', 'tasks = ["epoch"]\ntarget = 0.9', "target = ", "task epoch has no target"),
    ('model = "digits_cnn", reason', 'regime = "macthed", reason', "except = [{ regime", "'macthed'.*matched"),
    ("[races.published]", "[races.published]\nratios.resnet18.1x8x8 = { 8 = 2.0 }", "ratios.res",
     "no model of this group is called 'resnet18'"),
    ("[races.published]", "[races.published.ratios]\nvgg16.1x8x8 = { 8 = 2.0 }\n[races.published]", "vgg16.1x8x8",
     "no model of this group is called 'vgg16'"),
    ('b = "fake:steady[step=0.002]"', 'b = "fake:steady[step=0.02]"', "b = ", "contender of this group.*step=0.002"),
    ('name = "by batch"', 'name = "by batch"\ncontenders = ["fake:steady[step=0.001]", "numpy"]', "b = ",
     "contender of this group.*numpy"),
    ("[8, 16, 32]", "[8, 16, 8]", "batches = ", "should be a list of different ones; 8 is in it twice"),
    ('device = "cpu"', 'inputs = [8, "8"]', "inputs = ", "'8' is in it twice"),
    ('"digits_cnn"]', '"digits_cn"]', '"digits_cn"]', "no model is called 'digits_cn'\ndid you mean digits_cnn"),
    ("contenders = [", 'contenders = ["a b", ', "contenders = ", "'a b' is not a contender: write"),
]


@pytest.mark.parametrize(("written", "instead", "line", "said"), NAMES, ids=lambda each: each[:40])
def test_a_name_that_is_none_is_told_where_and_the_nearest(tmp_path: Path, written: str, instead: str, line: str,
                                                           said: str) -> None:
    """Also in what the file says for a scale that is not asked for."""
    path = tmp_path / "broken.toml"
    path.write_text(FILE.replace(written, instead, 1))
    number = next(count for count, each in enumerate(path.read_text().splitlines(), 1) if line in each)
    with pytest.raises(UsageError, match=re.compile(said, re.DOTALL)) as refused:
        study.read(path)
    assert f"{path}, line {number}: " in refused.value.message
    assert "should be no" not in refused.value.message and "should be '" not in refused.value.message


def test_races_that_are_one_table_are_told_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(FILE[:FILE.index("[[races]]")] + "[races]\nname = 'one'\n")
    number = path.read_text().splitlines().index("[races]") + 1
    with pytest.raises(UsageError, match=f"line {number}: races"):
        study.read(path)


def test_what_this_machine_lacks_is_no_mistake_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.toml"
    text = FILE.replace('tasks = ["infer"]', 'tasks = ["fit"]')
    path.write_text(text.replace('device = "cpu"', 'device = "cuda"\ndata = "cifar10:nowhere"').replace(
        '"fake:steady[step=0.001]", ', '"fake:steady[step=0.001]", "all", "torch@1.8.0:eager", "torch", "torch", '))
    assert len(study.read(path).to_run()) >= 2


def test_a_model_of_ones_own_lies_beside_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is run from; it is the same race that was known by its key when it was run from there."""
    folder, elsewhere = tmp_path / "ours", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "net.py").write_text(Path(TINY.partition(":")[0]).read_text())
    (folder / "mine.toml").write_text(FILE.replace(TINY, "./net.py:tiny"))
    monkeypatch.chdir(folder)
    here = [each.key for each in study.read(Path("mine.toml"), "small").races]
    monkeypatch.chdir(elsewhere)
    found = study.read(Path("../ours/mine.toml"), "small")
    assert [each.key for each in found.races] == here
    assert found.races[0].model == "./net.py:tiny" and found.races[0].located == "../ours/net.py:tiny"
    (done, *_) = verb.run(found, only=["by batch"], store=tmp_path / "store")
    assert done.results and not done.reason


@pytest.mark.parametrize("words", [
    FILE.replace('name = "inference"', 'name = "by batch"  # again'),
    FILE + '[races.scale.small]\nname = "by batch"  # again\n',
    FILE.replace('"by batch"', '"races 2"').replace('[[races]]\nname = "inference"', "[[races]]  # again"),
], ids=["twice", "at a scale", "one without a name"])
def test_two_groups_of_one_name_are_refused(tmp_path: Path, words: str) -> None:
    """By its name a group finds what was published of it: the figure of one would be judged by the other's pair."""
    path = tmp_path / "twice.toml"
    path.write_text(words)
    number = next(count for count, each in enumerate(words.splitlines(), 1) if "# again" in each)
    with pytest.raises(UsageError, match=r"name: another group is called '(by batch|races 2)'") as refused:
        study.read(path)
    assert f"line {number}: " in refused.value.message and "a name of its own" in refused.value.hint


def test_what_is_said_once_for_a_scale_replaces_the_several_of_the_group(tmp_path: Path) -> None:
    path = tmp_path / "once.toml"
    path.write_text(FILE.replace('except = [{ batch = 32, reason = "too long here" }]',
                                 'regimes = ["matched", "out-of-the-box"]\nlinks = ["1gbit", "100mbit"]')
                    .replace("batches = [8]", 'batches = [8]\nregime = "out-of-the-box"\nlink = "10mbit"'))
    assert len(study.read(path).races) == 3 * 2 * 2 + 2
    first = study.read(path, "small").races[0]
    assert (first.regime, str(first.link), first.device) == ("out-of-the-box", "10 Mbit/s", "cpu")
    assert [each.group for each in study.read(path, "small").races] == ["by batch", "inference", "inference"]


def test_the_published_schema_knows_the_devices_and_how_links_are_spelled() -> None:
    for device in (*names.devices(), "cuda:1"):
        assert not described(FILE.replace('device = "cpu"', f'device = "{device}"'))
    for link in ("100mbit", "1.5gbit+5ms", "10 Mbit/s + 20us", "8kbit/s+0.1s"):
        assert Link.parse(link) and not described(FILE.replace('device = "cpu"', f'links = ["{link}"]'))


def test_a_race_that_another_process_has_in_hand_is_left_to_it(file: Path, tmp_path: Path) -> None:
    """They would race against each other."""
    found, seen = study.read(file, "small"), []
    kept = verb.open_store(tmp_path / "store")
    mine, *_ = found.races

    def listen(progress: Progress) -> None:
        seen.append(progress.text)
    with kept.alone(mine.key) as ours:
        assert ours
        settled = verb.run(found, store=tmp_path / "store", listener=listen)
    assert [bool(each.results) for each in settled] == [False, True, False] and settled[0].pending
    assert f"left to another process, which is racing it: {mine.title}" in seen
    assert not any("s left)" in each for each in seen)  # that it was left in no time says nothing of the others
    again = verb.run(found, store=tmp_path / "store")  # it was stopped
    assert again[0].results and again[1].results[0].race.id == settled[1].results[0].race.id
    assert not list((tmp_path / "store").glob("*.lock"))


def test_names_are_told_the_nearest(file: Path) -> None:
    for name, scale, said in (("asu-2032", "", "asu-2023"), (str(file), "smal", "small"), ("no.toml", "", "asu-2023")):
        with pytest.raises(UsageError, match=said):
            study.find(name, scale)


@pytest.mark.parametrize("name", study.builtin())
@pytest.mark.parametrize("scale", ["", "small"])
def test_the_built_in_studies_can_be_planned(name: str, scale: str) -> None:
    found = study.find(name, scale)
    assert found.question.endswith("?") and found.races
    assert scale or all(each.published is not None for each in found.races if each.group in found.published)


@pytest.mark.parametrize("name", study.builtin())
def test_the_built_in_studies_are_planned_by_their_command(name: str, tmp_path: Path,
                                                           command: Callable[..., Run]) -> None:
    """Whatever devices this machine has."""
    shown = command("study", "run", name, "--dry-run", "--no-env", "--store", str(tmp_path / "store"))
    assert (shown.code, shown.err) == (0, "") and "not yet run" in shown.out


def described(words: str) -> list[str]:
    """What the published schema says against a study file."""
    checker = jsonschema.Draft202012Validator(schema("study_file"))
    return [each.message for each in checker.iter_errors(tomllib.loads(words))]


@pytest.mark.parametrize("name", study.builtin())
def test_the_published_schema_describes_the_built_in_studies(name: str) -> None:
    assert not described(study.builtin()[name].read_text())


def test_the_published_schema_has_the_keys_that_are_read() -> None:
    tables = {name: set(each["properties"]) for name, each in schema("study_file")["$defs"].items()
              if "properties" in each}
    assert tables == {
        "study": {*reading.STUDY, "accuracy", "scale"}, "study_at_a_scale": {*reading.STUDY},
        "races": {*reading.GROUP, "except", "published", "scale"}, "races_at_a_scale": {*reading.GROUP},
        "exception": {*reading.EXCEPT}, "published": {*reading.PUBLISHED, "ratios"}, "accuracy": {*reading.ACCURACY}}


BEYOND_A_SCHEMA = ('"digits_cnm"', '"fake:steady[step=0.001", "',
                   'accuracy = { source = "me", top1 = { resnt18 = 0.69 } }', 'name = "by batch"')


@pytest.mark.parametrize(("written", "instead"), MUTATIONS, ids=lambda each: each[:40])
def test_the_published_schema_refuses_what_is_malformed(written: str, instead: str) -> None:
    """All but what takes more than the shape of a file to know: the names of models, how a contender is spelled, and
    whether two groups have one name."""
    assert not described(FILE)
    with suppress(tomllib.TOMLDecodeError):
        assert described(FILE.replace(written, instead, 1)) or instead in BEYOND_A_SCHEMA


@pytest.mark.parametrize("page", ["guides/studies.md", "reference/studies.md"])
def test_the_example_of_a_page_can_be_planned(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ours.py").write_text(Path(TINY.partition(":")[0]).read_text() + "\nsmall = large = tiny\n")
    (example,) = re.findall(r"```toml\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example)
    assert study.read(path).to_run()
