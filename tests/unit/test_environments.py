"""Framework headers are read without importing anything; contenders are checked against them; each is told where it
can run."""

import errno
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

from factories import case
from photofinish import environments
from photofinish.environments import (
    Choice,
    Environment,
    FrameworkInfo,
    Missing,
    Recipe,
    builds,
    cache,
    choice,
    expand,
    headers,
    here,
    interpreters,
    libraries,
    make,
    read_header,
    recipes,
    releases,
    resolve,
)
from photofinish.environments.choice import order_for
from photofinish.environments.framework import Strategy
from photofinish.errors import UsageError
from photofinish.runner.arrange import find_entries
from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.values import Contender

ALPHA = FrameworkInfo("alpha", "Alpha", Recipe(">=3.6", ("alpha-cpu==1.5",)), ("eager", "compile"), ("cpu", "cuda"),
                      {"layout": ("contiguous", "channels_last"), "seed": ()}, recipes=(
                          Recipe(">=3.6,<3.7", ("alpha==0.9", "numpy<1.17"), "<1.0"),))
BETA = FrameworkInfo("beta", "Beta", Recipe(">=3.6", ("numpy",)), ("graph",), ("cpu",), {})
HEADER = """# /// script
# requires-python = ">=3.8"
# dependencies = ["gamma-gpu==7.8.1", "numpy==1.23.5"]
# [tool.photofinish]
# title = "Gamma"
# modes = ["eager"]
# devices = ["cpu"]
# options = {}
# download = "190 MB"
# disk = "1.5 GB"
# build-dependencies = ["setuptools<58"]
# no-build-isolation = true
# system = ["clang"]
# build-system = ["cmake"]
# module = "gamma_ray"
# recipes = [
#     { version = "<1.1", python = ">=3.6,<3.7", dependencies = ["gamma", "numpy<1.17"], no-build-isolation = false },
#     { version = ">=1.1,<2", disk = "80 MB" },
# ]
# ///
"""


@pytest.fixture(autouse=True)
def two_frameworks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": ALPHA, "beta": BETA})
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path / "cache"))


def names(*texts: str) -> list[str]:
    return [contender.name for contender in expand(*texts)]


def python(path: Path, version: str, **other: object) -> Path:
    """A program that says it is that Python."""
    told = {"version": version, "implementation": "CPython", "free": False, "platform": "linux-x86_64",
            "base": str(path), "paths": [str(path.parent.parent / "lib")], **other}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{json.dumps(told)}'\n")
    path.chmod(0o755)
    return path


def installed(folder: Path, **packages: str) -> None:
    """Puts packages into a folder as installers do."""
    for name, version in packages.items():
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (folder / f"{name}.py").write_text("")


@pytest.fixture
def nothing_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with no Python but this one; the folder is its home."""
    for name in ("PYENV_ROOT", "CONDA_EXE", "XDG_DATA_HOME", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    interpreters.discovered.cache_clear()
    return tmp_path


# Headers


def test_a_mode_that_nobody_has_run_says_so_before_it_races() -> None:
    info = replace(read_header(environments.FOLDER / "fake.py"), never_run=("mean", "cuda"))
    home = Environment(Path(sys.executable), info, "1.0")
    steady, mean = (Entry(Contender.parse(name), home) for name in ("fake:steady", "fake:mean"))
    assert steady.hazards("cpu") == "" and mean.hazards("cpu") == "mean has never been run before"
    assert steady.hazards("cuda:1") == "cuda has never been run before"


def test_every_framework_file_has_a_complete_header() -> None:
    files = [path for path in environments.FOLDER.iterdir() if path.is_file() and not path.name.startswith("_")]
    assert len(files) >= 2
    for path in files:
        info = read_header(path)
        assert info.name == path.stem.replace("_", "-")
        assert info.title and info.modes and set(info.devices) & {"cpu", "cuda"}
        assert info.python.startswith(">=3")


def test_a_header_says_how_an_environment_is_made(tmp_path: Path) -> None:
    (tmp_path / "gamma.py").write_text(HEADER)
    info = read_header(tmp_path / "gamma.py")
    assert info.recipe == Recipe(">=3.8", ("gamma-gpu==7.8.1", "numpy==1.23.5"), "", ("setuptools<58",), False,
                                 ("clang",), 190_000_000, 1_500_000_000, build_system=("cmake",))
    assert (info.main, info.module, info.requirement) == ("gamma-gpu", "gamma_ray", "gamma-gpu==7.8.1")
    oldest, old = info.recipes
    assert oldest == Recipe(">=3.6,<3.7", ("gamma", "numpy<1.17"), "<1.1", ("setuptools<58",), True, ("clang",),
                            build_system=("cmake",))
    assert (old.python, old.dependencies, old.download, old.disk) == (info.python, info.dependencies, 0, 80_000_000)


@pytest.mark.parametrize(("text", "complaint"), [
    ("import alpha\n", "no `# /// script` header"),
    ('# /// script\n# requires-python = ">=3.6"\n# dependencies = []\n# ///\n', "lacks 'tool'"),
    (HEADER.replace("190 MB", "a lot"), "'a lot' is not a size"),
    (HEADER.replace("# modes =", '# never-run = ["fast"]\n# modes =', 1), "nobody has run, not ['fast']"),
    (HEADER.replace("# modes =", '# of-training = ["quick"]\n# modes =', 1), "of-training names options, not quick"),
])
def test_a_header_that_is_absent_or_incomplete_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "gamma.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"gamma\.py") as caught:
        read_header(path)
    assert complaint in str(caught.value)


# Contenders


def test_the_default_mode_is_filled_in() -> None:
    assert names("alpha,beta") == ["alpha:eager", "beta:graph"]


def test_commas_inside_brackets_do_not_separate_contenders() -> None:
    assert names("alpha:eager[seed=1,layout=channels_last],beta") == [
        "alpha:eager[layout=channels_last,seed=1]", "beta:graph"]


def test_a_contender_named_twice_races_against_itself() -> None:
    assert names("alpha", "alpha:eager", "alpha:eager#2") == ["alpha:eager", "alpha:eager#2", "alpha:eager#3"]


def test_who_stands_before_a_dash_and_its_name_is_taken_out() -> None:
    assert names("all,beta,-alpha") == names("beta")
    assert names("alpha,-alpha,alpha") == ["alpha:eager"]  # and no copy of who is gone
    assert names("alpha:eager,alpha:compile,-alpha:compile", "beta,-alpha:eager") == names("beta")
    with pytest.raises(UsageError, match="'aplha'") as refused:
        expand("alpha,-aplha")
    assert "did you mean alpha" in refused.value.hint
    for nobody in ("-alpha,alpha", "alpha:eager,-alpha:compile"):
        with pytest.raises(UsageError, match="to take out"):
            expand(nobody)
    with pytest.raises(UsageError, match="leaves no contender"):  # which would be everybody
        expand("alpha:eager,-alpha")


def test_all_stands_for_everybody_who_races() -> None:
    assert names("all,alpha:compile") == ["alpha:eager", "alpha:compile"]


@pytest.mark.parametrize(("text", "said"), [
    ("alpa:eager", ["'alpa'", "did you mean alpha?"]),
    ("zzz", ["choose from: alpha, beta"]),
    ("alpha:eagre", ["mode of alpha", "did you mean eager?", "eager, compile"]),
    ("alpha:eager[layuot=channels_last]", ["option of alpha", "did you mean layout?"]),
    ("alpha:eager[layout=channel_last]", ["layout of alpha", "did you mean channels_last?"]),
    ("alpha:eager[layout]", ["option=value"]),
    ("alpha:eager[seed=1,layout=contiguous,seed=2]", ["says seed twice"]),
    ("alpha:eager[layout=contiguous", ["is not a contender", "framework:mode"]),
    ("beta[any=1]", ["option of beta", "threads"]),
    ("beta[OMP_NUM_THREADS=1]", ["set by the race", "threads=1"]),
    ("beta[HOME=/x]", ["option of beta"]),
    ("alpha@2.x:eager", ["'2.x' is not a version"]),
    ("alpha:eager#\u00b2", ["is not a contender"]),
    ("alpha:eager+ddp[\u00b2]", ["does not say on how many"]),
])
def test_wrong_contenders_are_told_the_nearest_right_one(text: str, said: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        expand(text)
    for part in said:
        assert part in str(caught.value)


@pytest.mark.parametrize(("version", "said"), [
    ("0.1", "did you mean alpha@0.9.0? (its releases: 0.9.0 to 2.1.0"),
    ("2.0", "did you mean alpha@2.0.0 or alpha@2.0.1?"),
    ("1.0.1", "did you mean alpha@1.0.0 or alpha@2.0.0?")])
def test_a_release_that_never_was_is_told_before_an_installer_looks_for_it(monkeypatch: pytest.MonkeyPatch,
                                                                           version: str, said: str) -> None:
    table = dict.fromkeys(("0.9.0", "1.0.0", "2.0.0", "2.0.1", "2.1.0"), date(2026, 1, 1))
    monkeypatch.setattr(releases, "tables", lambda: {"alpha": table})
    found = order_for(Contender("alpha", "eager", version=version))
    assert isinstance(found, Missing) and said in found.cure and f"--env alpha@{version}=PATH" in found.cure
    assert not any(releases.unheard_of("alpha", each) for each in ("2.0.1", "2.1.1", "3.0", "2.0.1rc1"))
    assert not releases.unheard_of("beta", "0.1")


def test_a_device_the_framework_does_not_have_is_refused() -> None:
    assert expand("alpha", device="cuda:1") == [Contender("alpha", "eager")]
    with pytest.raises(UsageError, match="beta does not run on cuda") as told:
        expand("beta", device="cuda")
    assert "--device cpu" in told.value.hint
    assert expand("beta", "all", device=None) == expand("beta", "all")  # where it does not matter on which


# This Python


def test_what_is_not_installed_is_missing_with_its_cure() -> None:
    missing = resolve(Contender("alpha", "eager"))
    assert isinstance(missing, Missing)
    assert missing.reason.startswith("Alpha is not installed")
    assert missing.cure == "photofinish env create alpha"


def test_what_is_installed_runs_in_this_interpreter_in_its_one_version() -> None:
    environment = resolve(Contender("beta", "graph"))
    assert isinstance(environment, Environment)
    assert environment.python == Path(sys.executable) and environment.origin == environments.OWN
    assert isinstance(resolve(Contender("beta", "graph", version=environment.version)), Environment)
    missing = resolve(Contender("beta", "graph", version="0.0.1"))
    assert isinstance(missing, Missing) and environment.version in missing.reason
    assert missing.cure == "photofinish env create beta@0.0.1"


def test_a_framework_without_all_its_packages_is_not_installed() -> None:
    beta = FrameworkInfo("numpy", "Beta", Recipe(">=3.6", ("numpy", "surely-not-installed")), ("graph",), ("cpu",), {})
    assert choice.installed_version(beta) is None


def test_a_framework_one_of_whose_packages_cannot_be_found_is_not_installed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the record of that package is left."""
    beta = FrameworkInfo("numpy", "Beta", Recipe(">=3.6", ("numpy", "ghost-cpu")), ("graph",), ("cpu",), {})
    record = tmp_path / "ghost_cpu-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: ghost-cpu\nVersion: 1.0\n")
    (record / "top_level.txt").write_text("ghost\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert choice.installed_version(beta) is None
    (tmp_path / "ghost.py").touch()
    importlib.invalidate_caches()
    assert choice.installed_version(beta) is not None


def test_a_build_for_gpus_is_the_framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tensorflow[and-cuda] stands for tensorflow-cpu, onnxruntime-gpu for onnxruntime."""
    runtime = FrameworkInfo("runtime", "Runtime", Recipe(">=3.6", ("runtime", "tensorflow-cpu")), ("graph",),
                            ("cpu", "cuda"), {})
    monkeypatch.setitem(builds.FOR_GPUS, "runtime", "runtime-gpu")
    installed(tmp_path, runtime="1.0")
    monkeypatch.setattr(here, "_is_whole", lambda package: package == "tensorflow")
    (tmp_path / "runtime-1.0.dist-info").rename(tmp_path / "runtime_gpu-1.1.dist-info")
    record = tmp_path / "runtime_gpu-1.1.dist-info/METADATA"
    record.write_text("Metadata-Version: 2.1\nName: runtime-gpu\nVersion: 1.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert choice.installed_version(runtime) == "1.1"
    monkeypatch.setattr(here, "_is_whole", lambda package: False)
    assert choice.installed_version(runtime) is None


def test_what_is_made_for_processors_is_not_taken_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    contender, order = Contender("alpha", "eager"), order_for(Contender("alpha", "eager"))
    made = Environment(Path("/made"), ALPHA, "1.5", environments.MADE)
    for found in (order, made):
        missing = choice.able(found, "cuda:1")
        assert isinstance(missing, Missing) and "for processors" in missing.reason
        assert missing.cure.endswith("with --env alpha=PATH") and choice.able(found, "cpu") is found
    given, own = replace(made, origin=environments.GIVEN), replace(made, origin=environments.OWN)
    assert [choice.able(each, "cuda") for each in (given, own)] == [given, own]
    monkeypatch.setattr(choice, "resolve", lambda *asked: made)
    assert environments.installed() == [contender] and environments.installed(device="cuda") == []
    monkeypatch.setattr(environments, "frameworks", headers.frameworks)
    monkeypatch.setattr(choice, "look", lambda *asked: order)
    with pytest.raises(UsageError, match="for processors") as told:
        find_entries(["alpha"], "cuda", Choice(make=True))
    assert told.value.hint == "name one that sees cuda with --env alpha=PATH"
    monkeypatch.setattr(builds, "WITH_CUDA", set(ALPHA.packages))
    assert choice.able(made, "cuda") is made


def test_a_folder_that_a_package_left_behind_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would import it, as a package of no file. One that is recorded may be such a package (MLX is)."""
    ghost = FrameworkInfo("ghost", "Ghost", Recipe(">=3.6", ("ghost-cpu", "numpy")), ("graph",), ("cpu",), {})
    (tmp_path / "ghost" / "data").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    assert choice.installed_version(ghost) is None
    record = tmp_path / "ghost_cpu-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: ghost-cpu\nVersion: 1.0\n")
    importlib.invalidate_caches()
    assert choice.installed_version(ghost) == "1.0"


def test_the_record_of_an_environment_has_exact_versions_and_no_path() -> None:
    environment = resolve(Contender("beta", "graph"))
    assert isinstance(environment, Environment)
    record = environment.record()
    assert record["packages"]["numpy"] == environment.version
    assert record["python"] == sys.version.split()[0] and record["origin"] == environments.OWN
    assert str(Path.home()) not in json.dumps(record)


def test_the_house_s_own_frameworks_do_not_race_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environments.installed() == []  # alpha is not installed, beta is the house's own
    monkeypatch.setattr(here, "installed_version", lambda framework: "1.5")
    assert environments.installed() == [Contender("alpha", "eager")]


# Environments of the user's


def test_the_users_environment_goes_before_this_python(tmp_path: Path) -> None:
    own = python(tmp_path / "venv" / "bin" / "python", "3.9.1")
    installed(tmp_path / "venv" / "lib", numpy="1.17.0", six="1.0")
    found = resolve(Contender("beta", "graph"), Choice.of([f"beta={tmp_path / 'venv'}"]))
    assert isinstance(found, Environment)
    assert (found.python, found.version, found.origin) == (own, "1.17.0", environments.GIVEN)
    assert found.record() == {"origin": "given", "python": "3.9.1", "packages": {"numpy": "1.17.0", "six": "1.0"}}
    assert resolve(Contender("beta", "graph"), Choice.of({"beta": own})) == found


def test_the_users_environment_serves_the_version_it_has(tmp_path: Path) -> None:
    python(tmp_path / "bin" / "python", "3.9.1")
    installed(tmp_path / "lib", numpy="1.17.0")
    here = resolve(Contender("beta", "graph"))
    assert isinstance(here, Environment)
    given = Choice.of([f"beta={tmp_path}"])
    assert resolve(Contender("beta", "graph", version=here.version), given) == here
    found = resolve(Contender("beta", "graph", version="1.17.0"), given)
    assert isinstance(found, Environment) and found.origin == environments.GIVEN
    wrong = resolve(Contender("beta", "graph", version="1.18"), Choice.of([f"beta@1.18={tmp_path}"]))
    assert isinstance(wrong, Missing) and "has Beta 1.17.0, not 1.18" in wrong.reason
    named = resolve(Contender("beta", "graph", version="1.18"), Choice.of([f"beta@1.18:graph={tmp_path}"]))
    assert named == wrong  # and not made somewhere else


def test_every_entry_of_a_contender_runs_in_the_users_environment_unless_one_is_named(tmp_path: Path) -> None:
    python(tmp_path / "bin" / "python", "3.9.1")
    installed(tmp_path / "lib", numpy="1.17.0")
    first, second = Contender("beta", "graph"), Contender("beta", "graph", copy=2)

    def places(given: str) -> list[bool]:
        choice = Choice.of([f"{given}={tmp_path}"])
        return [getattr(resolve(each, choice), "origin", "") == "given" for each in (first, second)]
    assert places("beta:graph") == [True, True]  # a placebo race is one of the same environment
    assert places("beta:graph#1") == [True, False]
    assert places("beta:graph#2") == [False, True]


@pytest.mark.parametrize(("packages", "said", "cure"), [
    ({}, "has no alpha", "-m pip install 'alpha-cpu==1.5'"),
    ({"alpha": "1.5"}, "has no numpy", "-m pip install 'numpy'"),
])
def test_an_environment_that_lacks_something_is_told_so(tmp_path: Path, packages: dict[str, str], said: str,
                                                        cure: str) -> None:
    own = python(tmp_path / "bin" / "python", "3.9.1")
    installed(tmp_path / "lib", **packages)
    found = resolve(Contender("alpha", "eager"), Choice.of([f"alpha={tmp_path}"]))
    assert isinstance(found, Missing) and said in found.reason and found.cure == f"{own} {cure}"


@pytest.mark.parametrize(("given", "said"), [
    ("alpha", "does not say which environment"),
    ("alpa=/usr", "did you mean alpha?"),
    ("alpha=/nowhere", "there is no Python"),
    ("alpha:eagre=/usr", "did you mean eager?"),
    ("alpha:eager+=/usr", "is not a contender"),
])
def test_an_environment_that_is_none_is_refused(given: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Choice.of([given])
    assert said in str(caught.value)


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the machine has no account for, as containers are started with --user."""
    def unknown(user: object) -> None:
        raise KeyError(user)

    for name in ("HOME", "PHOTOFINISH_CACHE", "XDG_CACHE_HOME", "PYENV_ROOT", "CONDA_EXE", "XDG_DATA_HOME",
                 "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setattr("pwd.getpwnam", unknown)


def test_who_has_no_home_is_told_what_to_say_and_needs_none_otherwise(
        homeless: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(interpreters._candidates()) == []
    for told in (cache.root, lambda: Choice.of(["alpha=~nobody/venv"])):
        with pytest.raises(UsageError, match="home folder"):
            told()
    here = [resolve(contender, Choice(make=make)) for contender in environments.expand("all") for make in (True, False)]
    assert here and cache.everything() == []  # none was made, and nothing has to be
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path))
    assert cache.root() == tmp_path / "environments"


def test_the_cache_lies_where_the_user_keeps_caches_at_an_absolute_path(tmp_path: Path,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PHOTOFINISH_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    for shared, expected in ((str(tmp_path / "c"), tmp_path / "c"), ("relative", tmp_path / ".cache"),
                             ("", tmp_path / ".cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", shared)
        assert cache.root() == expected / "photofinish" / "environments"


def test_an_environment_is_its_contender_s_however_that_is_spelled(tmp_path: Path) -> None:
    own = python(tmp_path / "bin" / "python", "3.9.1")
    given = Choice.of([f"alpha:eager[seed=1, layout=contiguous]={tmp_path}"]).given
    assert given == {names("alpha:eager[layout=contiguous,seed=1]")[0]: own}


def test_what_does_not_start_is_no_python(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    found = resolve(Contender("alpha", "eager"), Choice.of([f"alpha={broken}"]))
    assert isinstance(found, Missing) and "does not start" in found.reason


# Interpreters


def test_pythons_are_found_on_path_and_under_pyenv_uv_and_conda(nothing_found: Path) -> None:
    home = nothing_found
    python(home / "bin" / "python3.9", "3.9.1")
    python(home / ".pyenv" / "versions" / "3.6.15" / "bin" / "python", "3.6.15")
    python(home / ".local" / "share" / "uv" / "python" / "cpython-3.12" / "bin" / "python3", "3.12.4")
    python(home / "miniconda3" / "envs" / "old" / "bin" / "python", "3.7.2")
    python(home / "ailleurs-\xe9" / "bin" / "python", "3.5.2")
    listed = home / ".conda" / "environments.txt"
    listed.parent.mkdir()
    listed.write_bytes(b"/caf\xe9/gone\n" + os.fsencode(home / "ailleurs-\xe9") + b"\n")  # of no one encoding
    python(home / "bin" / "python3.8", "3.8.1", implementation="PyPy")
    python(home / "bin" / "python3.13", "3.13.1", free=True)
    (home / "bin" / "python3.7").write_text("not a program")
    assert sorted(each.version for each in interpreters.discovered()) == ["3.12.4", "3.5.2", "3.6.15", "3.7.2",
                                                                            "3.9.1"]
    chosen = interpreters.choose("<3.10")
    assert chosen is not None and chosen.version == "3.9.1"


def test_a_package_whose_record_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    for name, record in (("latin", b"Name: latin\nVersion: 1.0\nAuthor: Andr\xe9\n"), ("half", b"Name: half\n"),
                         ("whole", b"Name: Who.le\nVersion: 2.0\n")):
        (tmp_path / f"{name}-1.dist-info").mkdir()
        (tmp_path / f"{name}-1.dist-info" / "METADATA").write_bytes(b"Metadata-Version: 2.1\n" + record)
    found = interpreters.Interpreter(Path("python"), Path("python"), "3.6.15", "linux", (str(tmp_path),))
    assert found.packages() == {"who-le": "2.0"}


def test_a_python_that_races_are_not_for_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "examine", lambda python: None)
    interpreters.own.cache_clear()
    with pytest.raises(UsageError, match="ordinary CPython 3"):
        interpreters.own()


@pytest.mark.parametrize(("own", "reaches"), [(True, True), (False, False)])
def test_where_a_framework_was_seen_its_worker_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool,
                                                        reaches: bool) -> None:
    """By PYTHONPATH in this Python, and in no other."""
    monkeypatch.setenv("PYTHONPATH", "/modules")
    home = Environment(Path(sys.executable) if own else tmp_path / "bin" / "python", BETA, "1.0")
    course = SimpleNamespace(case=case(), cache=lambda entry: tmp_path)
    told = Course._environment(course, Entry(Contender("beta", "graph"), home), {})  # type: ignore[arg-type]
    assert (told.get("PYTHONPATH") == "/modules") == reaches


def test_this_version_of_python_is_preferred_and_none_so_new_that_wheels_are_missing(nothing_found: Path) -> None:
    for version in ("3.7.1", "3.8.2", "3.99.0"):
        python(nothing_found / "bin" / f"python{version.rpartition('.')[0]}", version)
    assert interpreters.choose(">=3.6") == interpreters.own()
    found = {requires: interpreters.choose(requires) for requires in ("<3.9", "!=" + sys.version.split()[0], ">=3.90")}
    assert [each.version for each in found.values() if each] == ["3.8.2", "3.8.2", "3.99.0"]


def test_a_python_that_is_missing_is_told_with_the_way_to_get_one(nothing_found: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    found = resolve(Contender("alpha", "eager", version="0.9.1"))
    assert isinstance(found, Missing) and "Alpha 0.9.1 needs Python >=3.6,<3.7" in found.reason
    assert found.cure == "install one, for example: pyenv install 3.6, or: conda create --name python3.6 python=3.6"


def test_a_library_is_found_under_the_name_that_an_old_binary_asks_for(tmp_path: Path,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path))
    wanted = {"libold.so.1": "libc.so.6", "libolder.so.1": "libnowhere.so.99"}
    found = libraries.variable(wanted, {"LD_LIBRARY_PATH": "/elsewhere"})
    if not found:
        pytest.skip("no ldconfig knows a libc.so.6 here")
    folder, _, others = found["LD_LIBRARY_PATH"].partition(":")
    assert others == "/elsewhere" and [each.name for each in Path(folder).iterdir()] == ["libold.so.1"]
    assert (Path(folder) / "libold.so.1").resolve().exists()
    assert libraries.variable({"libolder.so.1": "libnowhere.so.99"}, {}) == libraries.variable({}, {}) == {}
    monkeypatch.setattr(Path, "symlink_to", read_only)  # what is there need not be made
    assert libraries.variable(wanted, {"LD_LIBRARY_PATH": "/elsewhere"}) == found
    (Path(folder) / "libold.so.1").unlink()
    with pytest.raises(UsageError, match=f"cannot write {folder}: Read-only"):
        libraries.variable(wanted, {})


def read_only(link: Path, target: Path) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_what_the_system_lacks_is_told_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    needy = FrameworkInfo("beta", "Beta", Recipe(">=3.6", ("numpy",), system=("surely-no-such-program",)), ("graph",),
                          ("cpu",), {})
    monkeypatch.setattr(headers, "frameworks", lambda: {"beta": needy})
    found = resolve(Contender("beta", "graph"))
    assert isinstance(found, Missing) and "needs surely-no-such-program" in found.reason
    assert "apt-get install surely-no-such-program" in found.cure


def test_what_only_the_building_takes_is_not_asked_of_who_need_not_build(monkeypatch: pytest.MonkeyPatch,
                                                                         tmp_path: Path) -> None:
    """Horovod takes cmake to be built, and none to run: in this Python, or in the user's environment."""
    there, missing = (FrameworkInfo(name, name.capitalize(), Recipe(
        ">=3.6", packages, build_system=("surely-no-such-program",)), ("graph",), ("cpu",), {})
        for name, packages in (("beta", ("numpy",)), ("alpha", ("alpha-cpu",))))
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": missing, "beta": there})
    assert isinstance(resolve(Contender("beta", "graph")), Environment)
    python(tmp_path / "bin" / "python", "3.9.1")
    installed(tmp_path / "lib", alpha="1.5", numpy="1.17.0")
    assert isinstance(resolve(Contender("alpha", "graph"), Choice.of([f"alpha={tmp_path}"])), Environment)
    found = resolve(Contender("alpha", "graph"))
    assert isinstance(found, Missing) and "needs surely-no-such-program" in found.reason
    assert "apt-get install surely-no-such-program" in found.cure


@pytest.mark.parametrize("name", ["torch.py", "tfjs.mjs", "onnxruntime_node.mjs"])
def test_what_builds_horovod_and_installs_from_npm_is_not_needed_to_run(name: str) -> None:
    info = read_header(environments.FOLDER / name)
    recipe = info.strategies["horovod"].recipe if info.strategies else info.recipe
    assert recipe is not None and recipe.build_system and not set(recipe.build_system) & set(recipe.system)
    assert not {"cmake", "make", "npm"} & set(recipe.system)


def test_a_gpu_that_is_missing_is_nothing_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("an NVIDIA GPU's driver is here")
    needy = FrameworkInfo("beta", "Beta", Recipe(">=3.6", ("numpy",), system=("nvidia-smi",)), ("graph",), ("cuda",),
                          {})
    monkeypatch.setattr(headers, "frameworks", lambda: {"beta": needy})
    found = resolve(Contender("beta", "graph"))
    assert isinstance(found, Missing) and "needs an NVIDIA GPU" in found.reason and "install" not in found.cure


# Recipes


@pytest.mark.parametrize(("version", "python", "dependencies"), [
    ("", ">=3.6", ("alpha-cpu==1.5",)),
    ("1.2", ">=3.6", ("alpha-cpu==1.2",)),
    ("0.9.1", ">=3.6,<3.7", ("alpha==0.9.1", "numpy<1.17")),
])
def test_a_version_has_the_recipe_of_its_range_or_the_usual_one_with_another_pin(
        version: str, python: str, dependencies: tuple[str, ...]) -> None:
    found = recipes.recipe_of(ALPHA, version)
    assert (found.python, found.dependencies) == (python, dependencies)


@pytest.mark.parametrize(("name", "version", "python", "with_it"), [
    ("torch", "2.2.2", "3.11", "numpy<2"), ("torch", "2.4.0", "3.12", "numpy"),
    ("tensorflow", "2.16.2", "3.12", "numpy"), ("onnxruntime", "1.17.3", "3.12", "numpy<2"),
    ("jax", "0.6.2", "3.13", "flax"),  # any: the pinned one asks for a newer jax
])
def test_a_version_is_installed_beside_what_its_wheels_were_built_for(name: str, version: str, python: str,
                                                                      with_it: str) -> None:
    major, minor = map(int, python.split("."))
    found = recipes.recipe_of(headers.read_header(headers.FOLDER / f"{name}.py"), version)
    allowed = SpecifierSet(found.python)
    assert allowed.contains(python) and not allowed.contains(f"{major}.{minor + 1}")
    assert with_it in found.dependencies and found.dependencies[0].endswith(f"=={version}")


def test_extras_stay_when_a_version_is_pinned() -> None:
    info = FrameworkInfo("alpha", "Alpha", Recipe(">=3.6", ("alpha[cpu]==1.5 ; python_version > '3'",)), (), (), {})
    assert recipes.recipe_of(info, "1.4").dependencies == ('alpha[cpu]==1.4; python_version > "3"',)


def ordered(contender: Contender, info: FrameworkInfo = ALPHA) -> recipes.Order:
    found = recipes.order(contender, info)
    assert isinstance(found, recipes.Order)
    return found


def test_numpy_and_the_package_of_a_build_are_asked_for() -> None:
    info = FrameworkInfo("alpha", "Alpha", Recipe(">=3.6", ("alpha==1.5",)), ("eager",), ("cpu",), {},
                         builds={"zoo": "zoo==2"})
    assert ordered(Contender("alpha", "eager"), info).requirements == ("alpha==1.5", "numpy")
    built = ordered(Contender("alpha", "eager", (("build", "zoo:net"),)), info)
    assert built.requirements == ("alpha==1.5", "zoo==2", "numpy")
    assert (built.name, built.title) == ("alpha[build=zoo]", "Alpha with zoo")
    assert not set("[]") & set(str(built.folder))  # a pattern to many programs


def test_a_strategy_of_another_package_has_an_environment_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(">=3.6", ("alpha-cpu==1.5", "team-up==2"), build_dependencies=("alpha-cpu==1.5",))
    info = replace(ALPHA, strategies={"team": Strategy(("eager",), ("cpu",), recipe=recipe),
                                      "plain": Strategy(("eager",), ("cpu",))})
    alone, plain, team = (Contender("alpha", "eager", strategy=each, world=2) for each in ("", "plain", "team"))
    found = ordered(team, info)
    assert (found.name, found.title) == ("alpha+team", "Alpha with Team")
    assert found.requirements == ("alpha-cpu==1.5", "team-up==2", "numpy")
    assert ordered(replace(team, version="1.4"), info).recipe.build_dependencies == ("alpha-cpu==1.4",)
    assert ordered(plain, info).folder == ordered(alone, info).folder != found.folder
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": info})
    monkeypatch.setattr(here, "installed_version", lambda framework: "1.5")
    assert isinstance(choice.own(plain), Environment)
    lacking = choice.own(team)
    assert isinstance(lacking, Missing) and lacking.cure == "photofinish env create alpha+team"
    assert "team_up is not installed" in lacking.reason


def test_the_oldest_python_gets_the_backport_of_dataclasses(nothing_found: Path) -> None:
    python(nothing_found / "bin" / "python3.6", "3.6.15")
    order = ordered(Contender("alpha", "eager", version="0.9"))
    assert order.requirements == ("alpha==0.9", "numpy<1.17", "dataclasses")


def test_the_key_changes_with_whatever_decides_what_is_in_an_environment(nothing_found: Path) -> None:
    order = ordered(Contender("alpha", "eager"))
    interpreter = order.interpreter
    changes: list[Callable[[], recipes.Order]] = [
        lambda: replace(order, requirements=("alpha-cpu==1.6",)), lambda: replace(order, pins=("numpy==1",)),
        lambda: replace(order, recipe=replace(order.recipe, build_dependencies=("wheel",))),
        lambda: replace(order, recipe=replace(order.recipe, compiler_flags="-std=c++17")),
        lambda: replace(order, recipe=replace(order.recipe, build_environment={"WITH_ALPHA": "1"})),
        lambda: replace(order, recipe=replace(order.recipe, build_isolation=False)),
        lambda: replace(order, interpreter=replace(interpreter, base=Path("/other"))),
        lambda: replace(order, interpreter=replace(interpreter, version="3.0")),
        lambda: replace(order, interpreter=replace(interpreter, platform="moon"))]
    keys = {order.key, *(change().key for change in changes)}
    assert len(keys) == 1 + len(changes)
    assert replace(order, interpreter=replace(interpreter, paths=())).key == order.key


# Fields of contenders


@pytest.fixture
def gamma(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third framework, whose packages this Python has."""
    info = FrameworkInfo("gamma", "Gamma", Recipe(">=3.6", ("numpy", "packaging")), ("eager",), ("cpu",), {})
    for module in (headers, environments):
        monkeypatch.setattr(module, "frameworks", lambda: {"alpha": ALPHA, "gamma": info})


def test_of_all_those_that_cannot_be_had_are_skipped_with_the_reason(gamma: None) -> None:
    entries, skipped = find_entries(["all"], "cpu", Choice(make=False))
    assert [(each.name, str(each.home.python)) for each in entries] == [("gamma:eager", sys.executable)]
    (skip,) = skipped
    assert (skip.contender, skip.cure) == ("alpha:eager", "photofinish env create alpha")
    assert skip.reason.startswith("Alpha is not installed")
    with pytest.raises(UsageError, match="alpha:eager: Alpha is not installed"):
        find_entries(["gamma,alpha"], "cpu", Choice(make=False))


def test_what_cannot_be_had_is_told_before_anything_is_made(gamma: None, nothing_found: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "make", lambda order, listener: pytest.fail("an environment was made"))
    with pytest.raises(UsageError, match=r"Alpha 0\.9 needs Python >=3\.6,<3\.7"):
        find_entries(["gamma@1.0,alpha@0.9"], "cpu", Choice(make=True))


def test_a_look_for_pip_leaves_setuptools_alone() -> None:
    """Keras on CNTK asks for pip, too; PyTorch's compiler imports setuptools afterwards, which would warn."""
    program = ("from photofinish.environments import here\n"
               "assert here._is_there('pip') and not here._is_there('cntk')\n"
               "import setuptools, distutils\n"
               "assert 'setuptools' in distutils.__file__, distutils.__file__")
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
