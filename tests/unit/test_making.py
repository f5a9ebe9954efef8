"""Environments are made in place, once, whole or not at all, and removed when they take too much. The installer is a
script that behaves like uv and downloads nothing."""

import errno
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from installer import Installer
from photofinish.environments import (
    Choice,
    Environment,
    FrameworkInfo,
    Missing,
    Recipe,
    cache,
    choice,
    headers,
    held,
    here,
    interpreters,
    make,
    obtain,
    pins,
    recipes,
    resolve,
)
from photofinish.environments.cache import Made
from photofinish.errors import UsageError
from photofinish.runner import witnesses
from photofinish.values import Contender, Progress

ALPHA = FrameworkInfo("alpha", "Alpha", Recipe(">=3.6", ("alpha-cpu==1.5",), download=190_000_000, disk=1_000_000),
                      ("eager",), ("cpu",), {})
CONTENDER = Contender("alpha", "eager")


@pytest.fixture
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Installer]:
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PHOTOFINISH_CACHE_LIMIT", raising=False)
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": ALPHA})
    monkeypatch.setattr(make, "LOOK", 0.05)
    monkeypatch.setattr(make, "PATIENCE", 0.02)
    monkeypatch.setattr(cache, "_held", {})
    installer = Installer(tmp_path)
    monkeypatch.setattr(make, "find_uv", lambda: str(installer.path))
    yield installer
    for folder in list(cache._held):
        cache.release(folder)


def quiet(progress: Progress) -> None:
    pass


def get(contender: Contender = CONTENDER, listener: Callable[[Progress], None] = quiet,
        allowed: bool = True) -> Environment | Missing:
    return obtain(contender, Choice(make=allowed), listener)


def order(contender: Contender = CONTENDER) -> recipes.Order:
    found = choice.order_for(contender)
    assert isinstance(found, recipes.Order)
    return found


def elsewhere(uv: Installer) -> str:
    """A program that makes the same environment in a process of its own."""
    return (f"import sys; from photofinish.environments import cache, make, choice, headers, FrameworkInfo, Recipe\n"
            f"from photofinish.values import Contender\n"
            f"recipe = Recipe('>=3.6', ('alpha-cpu==1.5',))\n"
            f"alpha = FrameworkInfo('alpha', 'Alpha', recipe, ('eager',), ('cpu',), {{}})\n"
            f"headers.frameworks = lambda: {{'alpha': alpha}}\n"
            f"make.find_uv = lambda: {str(uv.path)!r}\n"
            f"choice.obtain(Contender('alpha', 'eager'), choice.Choice(make=True), lambda progress: None)\n")


def processes(script: Path) -> list[str]:
    """The processes that run a script."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(script).encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_what_is_missing_is_made_once_and_then_found(uv: Installer) -> None:
    assert isinstance(resolve(CONTENDER), Missing)
    made = get()
    assert isinstance(made, Environment)
    assert (made.origin, made.version) == (choice.MADE, "1.5")
    assert made.record() == {"origin": "made", "python": interpreters.own().version,
                             "packages": {"alpha-cpu": "1.5", "numpy": "1.0"}}
    first = subprocess.run([str(made.python), "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True)
    assert first.stdout.strip() == str(order().folder / "environment")
    calls = uv.called
    assert len(calls) == 2 and calls[0].startswith("venv") and calls[1].endswith("alpha-cpu==1.5 numpy")
    assert get() == made == resolve(CONTENDER) and uv.called == calls
    assert "alpha-cpu==1.5" in (order().folder / "install.log").read_text()


def test_a_recipe_has_the_last_word_with_the_compiler(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "echo -n")
    recipe = replace(order().recipe, compiler_flags="-std=c++17", build_environment={"WITH_ALPHA": "1"})
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": replace(ALPHA, recipe=recipe)})
    assert isinstance(get(), Environment)
    found = make.building(order())
    said = subprocess.run([found["CXX"], "-std=c++14", "a b.cc"], capture_output=True, text=True, check=True).stdout
    assert said == "-std=c++14 a b.cc -std=c++17" and found["WITH_ALPHA"] == "1"


def test_a_version_has_an_environment_of_its_own(uv: Installer) -> None:
    usual, other = get(), get(Contender("alpha", "eager", version="1.4"))
    assert isinstance(usual, Environment) and isinstance(other, Environment)
    assert (usual.version, other.version) == ("1.5", "1.4") and usual.python != other.python
    assert {each.asked for each in cache.everything()} == {"", "1.4"}


def test_what_is_about_to_be_made_is_told_with_its_size(uv: Installer) -> None:
    told: list[Progress] = []
    get(listener=told.append)
    assert told[0].stage == "environment" and "190 MB to download, 1 MB on disk" in told[0].text
    assert told[-1].text.startswith("made an environment for Alpha")
    unmeasured = order(Contender("alpha", "eager", version="1.4"))
    assert "has not been measured" in make.announcement(unmeasured)


def test_nothing_is_made_where_that_is_forbidden(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(get(allowed=False), Missing)
    monkeypatch.setenv("PHOTOFINISH_ENVIRONMENTS", "nver")
    with pytest.raises(UsageError, match="say never"):
        Choice()
    monkeypatch.setenv("PHOTOFINISH_ENVIRONMENTS", "Never ")
    assert not Choice().make and not Choice.of([]).make
    assert uv.called == []
    get()
    assert isinstance(get(allowed=False), Environment)  # what is there is used


def test_what_building_takes_is_asked_before_an_installer_and_not_of_what_is_made(
        uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    needy = replace(ALPHA, recipe=replace(ALPHA.recipe, build_system=("surely-no-such-program",)))
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": needy})
    for missing in (get(), choice.have(order(), quiet)):
        assert isinstance(missing, Missing) and "needs surely-no-such-program" in missing.reason
    assert uv.called == []
    monkeypatch.setattr(here, "_on_system", lambda name: True)
    there = get()
    monkeypatch.setattr(here, "_on_system", lambda name: False)
    assert isinstance(there, Environment) and get() == resolve(CONTENDER) == held(CONTENDER) == there


def test_one_with_a_package_of_models_is_told_apart_from_the_plain_one(uv: Installer,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    info = replace(ALPHA, builds={"zoo": "zoo==2"})
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": info})
    built = Contender("alpha", "eager", (("build", "zoo:net"),), version="1.4")
    for missing in (resolve(built), get(built, allowed=False)):
        assert isinstance(missing, Missing) and missing.cure == "photofinish env create 'alpha@1.4[build=zoo]'"
    uv.behave("fails")
    failed = get(built)
    assert isinstance(failed, Missing) and "photofinish env create 'alpha@1.4[build=zoo]' (" in failed.cure
    uv.behave("")
    assert isinstance(get(built), Environment) and isinstance(resolve(replace(built, options=())), Missing)
    assert [each.name for each in cache.everything()] == ["alpha@1.4[build=zoo]"]
    assert choice.at_hand("alpha", Choice()) == []  # that version alone would have to be made
    get(replace(built, options=()))
    assert choice.at_hand("alpha", Choice()) == ["1.4"]


def test_a_failure_is_told_with_the_last_words_the_command_and_the_log(uv: Installer) -> None:
    uv.behave("fails")
    failed = get()
    assert isinstance(failed, Missing)
    assert failed.reason.endswith("error: there is no alpha-cpu for this Python cause: the network is off")
    assert "Python 3." in failed.reason
    assert "photofinish env create alpha" in failed.cure and f"{uv.path} pip install" in failed.cure
    assert failed.log.endswith("error: there is no alpha-cpu for this Python\n  cause: the network is off")
    assert [each.name for each in order().folder.iterdir() if "log" in each.name] == ["install.log"]
    assert not (order().folder / "environment").exists() and cache.everything() == []
    uv.behave("")
    assert isinstance(get(), Environment)


def test_a_python_is_asked_itself_what_it_finds(tmp_path: Path) -> None:
    """What is installed to be edited is found by a finder of its own, and a site may print at the start."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    python = tmp_path / "bin" / "python"
    (folder,) = tmp_path.glob("lib/python*/site-packages")
    (folder / "edited.pth").write_text("import edited_finder; print('the site says hello')\n")
    (folder / "edited_finder.py").write_text(f"""
import sys
from importlib.util import spec_from_file_location
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return spec_from_file_location(name, {str(tmp_path / 'edited.py')!r}) if name == "edited" else None
sys.meta_path.append(Finder)
""")
    (tmp_path / "edited.py").touch()
    found = interpreters.examine(python)
    assert found is not None and found.has("edited") and found.has("json") and not found.has("edited_not")


def test_an_installer_that_leaves_nothing_has_failed(uv: Installer) -> None:
    uv.behave("forgets")
    failed = get()
    assert isinstance(failed, Missing) and "left no alpha-cpu behind" in failed.reason


def test_a_disk_that_is_too_small_is_told_before(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = FrameworkInfo("alpha", "Alpha", Recipe(">=3.6", ("alpha-cpu==1.5",), disk=10**18), ("eager",), ("cpu",), {})
    monkeypatch.setattr(headers, "frameworks", lambda: {"alpha": huge})
    failed = get()
    assert isinstance(failed, Missing) and "are free" in failed.reason and uv.called == []


def test_an_interruption_leaves_nothing_that_looks_complete_and_no_installer(uv: Installer) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.stage == "making":
            raise KeyboardInterrupt

    uv.behave("hangs")
    with pytest.raises(KeyboardInterrupt):
        get(listener=interrupt)
    assert processes(uv.path) == []
    assert cache.read(order().folder) is None and not (order().folder / "environment").exists()
    uv.behave("")
    assert isinstance(get(), Environment)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_ends_the_installer_first(uv: Installer, number: signal.Signals) -> None:
    """By `kill`, by a batch system, by a terminal that is closed."""
    uv.behave("hangs")
    with subprocess.Popen([sys.executable, "-c", elsewhere(uv)]) as parent:
        wait_until(lambda: len(uv.called) == 2)
        os.kill(parent.pid, number)
    try:
        assert parent.returncode == 128 + number and processes(uv.path) == []
        assert cache.read(order().folder) is None and not (order().folder / "environment").exists()
    finally:
        for each in processes(uv.path):
            os.kill(int(each), signal.SIGKILL)


def test_who_ignores_a_closed_terminal_goes_on(uv: Installer) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with make._leaving_in_order():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_parent_that_is_killed_leaves_its_lock_with_the_installer(uv: Installer) -> None:
    """Until the installer has ended, nobody else begins in the same folder."""
    uv.behave("hangs")
    folder = order().folder
    with subprocess.Popen([sys.executable, "-c", elsewhere(uv)]) as parent:
        wait_until(lambda: len(uv.called) == 2)
        os.kill(parent.pid, signal.SIGKILL)
    try:
        assert processes(uv.path) and cache.read(folder) is None
        assert not cache.remove(folder)
    finally:
        for each in processes(uv.path):
            os.kill(int(each), signal.SIGKILL)
    wait_until(lambda: not processes(uv.path))
    uv.behave("")
    assert isinstance(get(), Environment)  # what was left is swept away


def test_two_who_want_the_same_make_it_once(uv: Installer) -> None:
    found: list[Environment | Missing] = []
    threads = [threading.Thread(target=lambda: found.append(get())) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(uv.called) == 2 and found[0] == found[1] and isinstance(found[0], Environment)


# What installers are told


def installing(uv_program: str | None, recipe: Recipe, minor: str = "3.11", pinned: tuple[str, ...] = ()) -> list[str]:
    python = interpreters.Interpreter(Path("/x/python"), Path("/x/python"), f"{minor}.1", "linux", ())
    made = recipes.Order(ALPHA, "", recipe, recipe.dependencies, pinned, python)
    folder = str(made.folder)
    return [" ".join(each).replace(folder, "FOLDER") for each in make.commands(made, uv_program)]


def test_uv_makes_it_where_there_is_one() -> None:
    assert installing("uv", ALPHA.recipe) == [
        "uv venv --no-project --python /x/python FOLDER/environment",
        "uv pip install --python FOLDER/environment/bin/python --compile-bytecode alpha-cpu==1.5"]


def test_uv_takes_nothing_from_an_index_where_pip_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a folder of wheels and no network: uv would try PyPI and end there."""
    monkeypatch.setenv("PIP_NO_INDEX", "yes")
    assert installing("uv", ALPHA.recipe)[1] == (
        "uv pip install --python FOLDER/environment/bin/python --no-index --compile-bytecode alpha-cpu==1.5")
    assert "--no-index" not in " ".join(installing(None, ALPHA.recipe))  # pip reads it itself


def test_venv_and_pip_make_it_elsewhere() -> None:
    assert "--compile-bytecode" not in installing("uv", ALPHA.recipe, "3.6")[1]  # which uv cannot do there
    pip = "FOLDER/environment/bin/python -m pip install --disable-pip-version-check --no-input"
    assert installing(None, ALPHA.recipe) == ["/x/python -m venv FOLDER/environment", f"{pip} alpha-cpu==1.5"]
    old = installing(None, ALPHA.recipe, "3.6")
    assert len(old) == 3 and old[1].startswith(f"{pip} pip==21.3.1")


def test_what_a_build_needs_comes_first_and_pins_hold() -> None:
    recipe = Recipe(">=3.6", ("alpha==1",), build_dependencies=("setuptools<58", "wheel"), build_isolation=False)
    _, before, then = installing("uv", recipe, pinned=("numpy==1.0",))
    assert before.endswith("python setuptools<58 wheel")
    assert then.endswith("--no-build-isolation --constraint FOLDER/pins.txt alpha==1")


def test_an_installer_sees_pips_indexes_and_no_environment_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_FIND_LINKS", "UV_INDEX", "UV_DEFAULT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"PIP_FIND_LINKS": "wheels", "PIP_INDEX_URL": "https://index.test/simple",
                        "PIP_EXTRA_INDEX_URL": "", "PIP_TARGET": "/elsewhere", "PYTHONPATH": "/elsewhere",
                        "VIRTUAL_ENV": "/elsewhere", "HTTPS_PROXY": "proxy"}.items():
        monkeypatch.setenv(name, value)
    told = make.surroundings("uv")
    assert (told["UV_FIND_LINKS"], told["UV_DEFAULT_INDEX"]) == ("wheels", "https://index.test/simple")
    assert told["HTTPS_PROXY"] == "proxy" and "/elsewhere" not in told.values() and "UV_INDEX" not in told
    assert told["UV_PROJECT"] == "/"  # and not that in whose folder the cache may lie
    alone = make.surroundings(None)
    assert alone["PIP_FIND_LINKS"] == "wheels"  # which pip reads itself
    assert (alone["PIP_USER"], alone["PIP_CONSTRAINT"]) == ("0", "/dev/null")  # whatever its files say


# Locks


def test_a_lock_holds_exact_versions_for_the_same_recipe_and_python(monkeypatch: pytest.MonkeyPatch,
                                                                   tmp_path: Path) -> None:
    monkeypatch.setattr(pins, "FOLDER", tmp_path / "locks")
    asked = ("torch==2.13.0", "numpy")
    packages = {"torch": "2.13.0+cpu", "numpy": "2.4.6", "pip": "23.2.1"}
    path = pins.write("torch", asked, "3.11", packages)
    assert path.read_text().splitlines() == [
        "# torch, Python 3.11", "# made of: torch==2.13.0, numpy", "numpy==2.4.6", "torch==2.13.0"]
    assert pins.read("torch", asked, "3.11") == ("numpy==2.4.6", "torch==2.13.0")
    assert pins.read("torch", asked, "3.12") == pins.read("torch", ("torch==2.12.0", "numpy"), "3.11") == ()
    assert pins.read("jax", asked, "3.11") == ()


def test_a_lock_is_kept_to_when_an_environment_is_made(uv: Installer, monkeypatch: pytest.MonkeyPatch,
                                                       tmp_path: Path) -> None:
    monkeypatch.setattr(pins, "FOLDER", tmp_path / "locks")
    free = order()
    pins.write("alpha", free.requirements, free.interpreter.minor, {"alpha-cpu": "1.5", "numpy": "1.0"})
    locked = order()
    assert locked.pins == ("alpha-cpu==1.5", "numpy==1.0") and locked.key != free.key
    get()
    assert (locked.folder / "pins.txt").read_text() == "alpha-cpu==1.5\nnumpy==1.0\n"
    assert f"--constraint {locked.folder / 'pins.txt'}" in uv.called[-1]


@pytest.mark.parametrize("path", sorted(pins.FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_committed_locks_have_exact_versions_and_nothing_else(path: Path) -> None:
    name, made_of, *lines = path.read_text().splitlines()
    framework, _, version = path.stem.partition("@")
    assert re.fullmatch(rf"# {re.escape(path.stem)}, Python 3\.\d+", name) and made_of.startswith("# made of: ")
    assert lines and all(re.fullmatch(r"([a-z0-9-]+|npm:[@a-z0-9/._-]+)==[0-9][0-9a-z.-]*", line) for line in lines)
    recipe = recipes.recipe_of(headers.frameworks()[framework], version)
    assert made_of.startswith("# made of: " + ", ".join(recipe.dependencies))
    assert made_of.endswith(", ".join(recipe.npm))


# The cache


def made(name: str, size: int, used: float) -> Path:
    folder = cache.root() / f"{name}-0"
    (folder / "environment").mkdir(parents=True)
    cache.complete(Made(folder, name, "1", "", folder / "environment" / "bin" / "python", "3.11.7", {}, size, ""))
    os.utime(folder / ".complete", (used, used))
    return folder


def test_the_longest_unused_go_first_and_never_what_is_in_use(uv: Installer) -> None:
    now = time.time()
    old, used, young = (made(name, 100, now - age) for name, age in (("old", 30), ("used", 20), ("young", 10)))
    assert [each.framework for each in cache.everything()] == ["young", "used", "old"]
    assert cache.hold(old) is not None  # and so is the last used now
    os.utime(old / ".complete", (now - 30, now - 30))
    assert cache.trim(250) == [used]
    assert cache.trim(0) == [young]
    assert [each.folder for each in cache.everything()] == [old]
    assert not cache.remove(old)
    cache.release(old)
    assert cache.remove(old) and not old.exists() and cache.hold(old) is None


def test_what_stands_in_for_the_reference_is_not_removed_meanwhile(uv: Installer,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """A race of ONNX Runtime, say, has its reference from a TensorFlow that is no contender of it."""
    assert isinstance(held(CONTENDER), Missing) and not cache.root().exists()  # nothing is made for it
    get()
    folder = order().folder
    cache.release(folder)
    monkeypatch.setattr(witnesses, "TENSORFLOW", CONTENDER)
    monkeypatch.setattr(witnesses, "TORCH", replace(CONTENDER, version="1.6"))
    assert [each.contender for each in witnesses.stand_ins("cpu")] == [CONTENDER]
    assert not cache.remove(folder)
    cache.release(folder)
    with cache.alone(folder):  # it is being made anew, or removed
        assert witnesses.stand_ins("cpu") == []


def test_a_cache_that_nobody_may_write_serves_what_is_in_it(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that an administrator has filled, say."""
    there = get()
    cache.release(order().folder)
    other, opened = made("other", 10**9, time.time()), Path.open

    def refused(path: Path, *words: object, **named: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def only_read(path: Path, mode: str = "r", *words: Any, **named: Any) -> Any:
        return opened(path, mode, *words, **named) if mode[0] == "r" else refused(path)

    monkeypatch.setattr(Path, "open", only_read)
    monkeypatch.setattr(Path, "touch", refused)
    monkeypatch.setattr(Path, "unlink", refused)
    monkeypatch.setenv("PHOTOFINISH_CACHE_LIMIT", "1 MB")
    assert get() == there and other.exists()
    missing = get(Contender("alpha", "eager", version="1.6"))
    assert isinstance(missing, Missing) and "can be made: Permission denied: " in missing.reason
    assert "PHOTOFINISH_CACHE=FOLDER" in missing.cure


def test_who_waits_for_a_lock_sleeps(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an installer has started (a server of a compiler's, say) may have it still when all is made."""
    get()
    cache.release(order().folder)
    tries, slept = iter([None, None, None, None]), []
    hold = cache.hold
    monkeypatch.setattr(cache, "hold", lambda folder: next(tries, "now") and hold(folder))
    monkeypatch.setattr(time, "sleep", slept.append)
    assert isinstance(get(), Environment) and slept == [make.PATIENCE] * 2


def test_a_disk_without_locks_is_told_and_not_waited_for(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Lustre is often mounted."""
    def refused(file: object, how: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refused)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waits"))
    missing = get()
    assert isinstance(missing, Missing) and "files cannot be locked there" in missing.reason


def test_a_cache_that_is_no_folder_is_told(uv: Installer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path / "file"))
    missing = get()
    assert isinstance(missing, Missing) and "Not a directory" in missing.reason and "PHOTOFINISH_CACHE" in missing.cure


def test_making_one_makes_room(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTOFINISH_CACHE_LIMIT", "1 MB")
    large = made("large", 10**9, time.time() - 10)
    assert isinstance(get(), Environment)
    assert not large.exists() and len(cache.everything()) == 1


def test_what_an_interrupted_installation_left_is_swept_and_logs_stay(uv: Installer) -> None:
    left, failed = cache.root() / "left-0", cache.root() / "failed-0"
    (left / "environment").mkdir(parents=True)
    failed.mkdir()
    (failed / "install.log").write_text("error")
    assert cache.trim(10**9) == [left] and failed.exists()


def test_what_another_has_just_completed_is_not_swept(uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was seen half made, and is whole when its turn comes."""
    left, take = cache.root() / "left-0", cache._lock
    (left / "environment").mkdir(parents=True)

    def meanwhile(folder: Path, kind: int) -> Any:
        cache.complete(Made(left, "left", "1", "", left / "environment" / "bin" / "python", "3.11.7", {}, 100, ""))
        return take(folder, kind)

    monkeypatch.setattr(cache, "_lock", meanwhile)
    assert cache.trim(10**9) == [] and cache.read(left) is not None


@pytest.mark.parametrize("told", ["", "{", "{}", json.dumps({"framework": "alpha"})])
def test_what_cannot_be_read_is_not_complete(uv: Installer, told: str) -> None:
    folder = cache.root() / "alpha-0"
    folder.mkdir(parents=True)
    (folder / ".complete").write_text(told)
    assert cache.read(folder) is None and cache.hold(folder) is None


def test_who_used_an_environment_that_was_deleted_does_not_wait_for_itself(uv: Installer) -> None:
    folder = made("alpha", 100, time.time())
    assert cache.hold(folder) is not None and folder in cache._held
    shutil.rmtree(folder)
    assert cache.hold(folder) is None and folder not in cache._held


@pytest.mark.parametrize("limit", ["20", "20 GiB", "much"])
def test_a_limit_that_is_no_size_is_refused(limit: str, uv: Installer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTOFINISH_CACHE_LIMIT", limit)
    with pytest.raises(UsageError, match="PHOTOFINISH_CACHE_LIMIT"):
        get()
    assert uv.called == []


def test_a_file_of_many_links_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    once = cache.size_of(tmp_path)
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    assert cache.size_of(tmp_path) == once >= 100_000


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
