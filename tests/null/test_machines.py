"""Processes on machines that are named: namespaces of the network stand in for these, and a script for ssh."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import jsonschema
import pytest

from photofinish import api, models
from photofinish.errors import UsageError
from photofinish.reports import json
from photofinish.runner import allocator, links, machines
from photofinish.runner.machines import REACH
from photofinish.values import Link, Progress
from photofinish.worker import GUARD
from traffic import sent

TINY = f"{Path(__file__).parent / 'tiny.py'}:tiny_plain"
TWO = "fake:steady+mean[2,noise=0.001,sample=0.1,step=0.1]"
ONE = "fake:steady[noise=0.001,sample=0.1,step=0.1]"
PORT = """#!/bin/sh
# Like ssh: the words become one line for a shell there.
host=$1
shift
case "$host" in
{hosts}
*) echo "no route to $host" >&2; exit 255;;
esac
"""
THERE = '{address}) exec nsenter --net={namespace} sh -c "$*";;'


@pytest.fixture
def reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[links.Host]], None]:
    """Lets hosts be reached by their addresses."""
    def let(hosts: Sequence[links.Host]) -> None:
        script = tmp_path / "reach"
        script.write_text(PORT.format(hosts="\n".join(
            THERE.format(address=each.address, namespace=links.NAMESPACES / each.namespace) for each in hosts)))
        script.chmod(0o755)
        monkeypatch.setenv(REACH, f"{script} {{host}}")
    return let


def test_a_race_on_machines_says_so_and_its_processes_run_there(
        linked: None, reach: Callable[[Sequence[links.Host]], None], tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    with links.hosts(Link(1e9), 2) as hosts:
        reach(hosts)
        before = [sent(each.namespace) for each in hosts]
        (found,) = api.race(TINY, (TWO, ONE), hosts=[each.address for each in hosts], store=tmp_path / "a store",
                            batch=8, threads=2, launches=2, seed=1, energy=False)
        moved = [sent(each.namespace) - was for each, was in zip(hosts, before)]
    assert found.comparable and found.verdicts[0].verdict == "FASTER"
    assert min(moved) > 4 * models.find(TINY).graph().parameter_count
    assert found.race.case.hosts == ("10.0.0.1", "10.0.0.2")
    assert "on 10.0.0.1 and 10.0.0.2" in str(api.Outcome([found]))
    jsonschema.validate(json.race(found), json.schema("race"))


def test_a_machine_that_is_lost_ends_the_contender_and_leaves_nobody(
        linked: None, reach: Callable[[Sequence[links.Host]], None], tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    struck: list[int] = []

    def strike(progress: Progress) -> None:
        """Kills what runs on the second of them, between two blocks."""
        if progress.stage == "block" and not struck:
            struck.extend(_running_in(hosts[1]))
            for pid in struck:
                os.kill(pid, signal.SIGKILL)

    with links.hosts(Link(1e9), 2) as hosts:
        reach(hosts)
        (found,) = api.race(TINY, (TWO, ONE), hosts=[each.address for each in hosts], store=tmp_path / "store", batch=8,
                            threads=2, launches=2, seed=1, energy=False, certify=False, listener=strike)
        (failure,) = found.race.failures
        assert struck and failure.contender == TWO and "rank 1 of 2: was killed by SIGKILL" in failure.message
        assert "--hosts 10.0.0.1,10.0.0.2" in failure.command
        assert not _running_in(hosts[0]) and not _running_in(hosts[1])


def _running_in(host: links.Host) -> list[int]:
    """The processes whose network is that host's."""
    wanted = (links.NAMESPACES / host.namespace).stat().st_ino
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "ns/net").stat().st_ino == wanted:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_worker_far_away_ends_with_the_last_who_can_read_its_answers() -> None:
    worker = subprocess.Popen([sys.executable, "-c", "from photofinish.worker import main; main()"],
                              env={**os.environ, GUARD: "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True)
    assert worker.stdout is not None and worker.stdin is not None
    assert b'"protocol"' in worker.stdout.readline()
    worker.stdout.close()  # its requests could still come
    assert worker.wait(timeout=60) == -signal.SIGKILL
    worker.stdin.close()


def test_a_machine_is_told_the_threads_even_where_the_users_own_shell_says_as_many(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of that shell ssh takes nothing along."""
    obeyed = {"OMP_NUM_THREADS": "2", "TF_ENABLE_ONEDNN_OPTS": "0", **allocator.KEEP}
    for name, value in {**obeyed, "LANG": "C"}.items():
        monkeypatch.setenv(name, value)
    script = tmp_path / "start.sh"
    machines.Machine("there", "10.0.0.1", "eth0").started(["python"], {**os.environ, "OWN": "1"}, script)
    assert all(f" {name}={value} " in script.read_text() for name, value in {**obeyed, "OWN": "1"}.items())
    assert "LANG=" not in script.read_text()


def test_one_named_twice_is_asked_the_way_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To itself it is the loopback device, by which no other reaches it."""
    monkeypatch.setenv(REACH, """sh -c 'echo "[{{\\"dev\\": \\"to $(tail -n1 "$2" | cut -d" " -f7)\\", """
                              """\\"prefsrc\\": \\"$0\\"}}]"' {host}""")
    found = machines.find(["10.0.0.1", "10.0.0.1", "10.0.0.2"], tmp_path, ())
    assert [each.device for each in found] == ["to 10.0.0.2", "to 10.0.0.2", "to 10.0.0.1"]
    assert [each.device for each in machines.find(["10.0.0.1"] * 2, tmp_path, ())] == 2 * ["to 10.0.0.1"]


@pytest.mark.parametrize(("contenders", "hosts", "port", "said"), [
    ((ONE, ONE), ["10.0.0.1", "10.0.0.2"], "sh", "each of these contenders is one"),
    ((TWO, ONE), ["10.0.0.1"], "sh", "is 2 processes, and 1 hosts are named"),
    ((TWO, ONE), ["nowhere.invalid", "10.0.0.2"], "sh", "no machine called nowhere.invalid"),
    ((TWO, ONE), ["10.0.0.1", "10.0.0.2"], "srun --nodelist={node}", "cannot be read\nwrite {host} for the machine"),
    ((TWO, ONE), ["10.0.0.1", "10.0.0.2"], "ssh '{host}", "cannot be read"),
    ((TWO, ONE), ["10.0.0.1", "10.0.0.2"], "no-such-program {host}", "no-such-program cannot be started"),
    ((TWO, ONE), ["10.0.0.1", "10.0.0.2"], "sh -c 'echo closed >&2; exit 255' {host}", "cannot be raced on: closed"),
    ((TWO, ONE), ["10.0.0.1", "10.0.0.2"], "sh -c 'echo /bin/python9 >&2; exit 3' {host}", "has no /bin/python9")])
def test_what_cannot_be_is_told_before_anything_is_stored(
        contenders: tuple[str, str], hosts: list[str], port: str, said: str, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REACH, port)
    with pytest.raises(UsageError, match=said):
        api.race(TINY, contenders, hosts=hosts, store=tmp_path, batch=8, threads=2)
    with pytest.raises(UsageError, match="no race has been run"):
        api.load(store=tmp_path)
