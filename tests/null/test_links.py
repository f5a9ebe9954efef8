"""Processes on hosts of their own, joined by links of a stated speed: the hosts themselves, and races over them."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from photofinish import api, models, study
from photofinish.cli import run
from photofinish.errors import UsageError
from photofinish.outcome import LinkSweep
from photofinish.reports import json
from photofinish.runner import links
from photofinish.values import Link, Progress, SpellingError
from traffic import sent

TINY = f"{Path(__file__).parent / 'tiny.py'}:tiny_plain"
TWO = "fake:steady+mean[2,noise=0.001,sample=0.1,step=0.1]"
ONE = "fake:steady[noise=0.001,sample=0.1,step=0.1]"
FAST = Link(1e8)
SENDS = """import socket, sys
server, other, size = sys.argv[1] == "server", sys.argv[2], int(sys.argv[3])
if server:
    with socket.create_server((socket.gethostbyname(socket.gethostname()), 5000)) as listening:
        print("ready", flush=True)
        taken, size = listening.accept()[0], 0
        while piece := taken.recv(1 << 16):
            size += len(piece)
        print(size)
else:
    with socket.create_connection((other, 5000)) as given:
        given.sendall(bytes(size))
"""


@pytest.mark.parametrize(("text", "link", "name", "told"), [
    ("100mbit", Link(1e8), "100mbit", "100 Mbit/s"), ("1000 Mbit/s", Link(1e9), "1gbit", "1 Gbit/s"),
    ("2.5gbit+5ms", Link(2.5e9, 0.005), "2.5gbit+5ms", "2.5 Gbit/s, delayed by 5 ms"),
    ("64kbit", Link(64e3), "64kbit", "64 kbit/s")])
def test_a_link_is_read_as_it_is_written(text: str, link: Link, name: str, told: str) -> None:
    assert Link.parse(text) == link == Link.parse(name)
    assert (link.name, str(link)) == (name, told)


@pytest.mark.parametrize("text", ["", "100", "fast", "100mb", "0mbit", "-1mbit", "1gbit+5", "1gbit,2gbit"])
def test_what_is_no_link_is_told_the_form(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SpellingError, match="write 100mbit"):
        Link.parse(text)
    assert run(["race", TINY, "-c", f"{ONE},{TWO}", f"--link={text}"]) == 2
    assert "write 100mbit" in capsys.readouterr().err


def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "tc" else f"/usr/sbin/{name}")


def not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/sbin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.mark.parametrize(("without", "said"), [(lacking, "links take tc, .*\napt-get install iproute2|iproute2"),
                                               (not_root, "only root may make")])
def test_who_cannot_have_links_is_told_before_anything_is_stored(
        without: Callable[[pytest.MonkeyPatch], None], said: str, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch)
    with pytest.raises(UsageError, match=said):
        api.race(TINY, (ONE, TWO), link="100mbit", store=tmp_path, batch=8, threads=2)
    with pytest.raises(UsageError, match="no race has been run"):
        api.load(store=tmp_path)


@pytest.mark.parametrize("batch", [8, "max"])
def test_a_link_for_nobody_is_wrong_use(tmp_path: Path, batch: int | str) -> None:
    with pytest.raises(UsageError, match="each of these contenders is one"):
        api.race(TINY, (ONE, ONE), link="100mbit", store=tmp_path, batch=batch)


@pytest.mark.parametrize("count", [2, 3])
def test_hosts_reach_each_other_over_their_links_alone_and_are_gone_afterwards(count: int, linked: None) -> None:
    with pytest.raises(KeyboardInterrupt), links.hosts(FAST, count) as hosts:
        first, last = hosts[0], hosts[-1]
        receiver = subprocess.Popen(first.command([sys.executable, "-c", SENDS, "server", "", "0"]),
                                    stdout=subprocess.PIPE, text=True)
        assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
        assert os.readlink(f"/proc/{receiver.pid}/ns/net") != os.readlink("/proc/self/ns/net")  # noqa: PTH115
        before = [sent(each.namespace) for each in hosts]
        subprocess.run(last.command([sys.executable, "-c", SENDS, "client", first.address, "500000"]), check=True)
        assert receiver.communicate()[0] == "500000\n"
        moved = [sent(each.namespace) - was for each, was in zip(hosts, before)]
        assert moved[-1] > 500_000 and all(each < 50_000 for each in moved[:-1])
        for host in hosts:
            shaped = subprocess.run(["tc", "-n", host.namespace, "qdisc", "show"], capture_output=True, text=True,
                                    check=True)
            assert "tbf" in shaped.stdout and "rate 100Mbit" in shaped.stdout
        raise KeyboardInterrupt
    assert not any((links.NAMESPACES / each.namespace).exists() for each in hosts)


def test_a_delay_is_refused_where_the_kernel_has_none(linked: None) -> None:
    try:
        links.check(Link(1e8, 0.005))
    except UsageError as error:
        assert "netem" in error.message and "modprobe sch_netem" in error.hint


def test_what_a_killed_process_left_is_cleared_by_the_next(linked: None) -> None:
    program = ("import time\nfrom photofinish.runner import links\nfrom photofinish.values import Link\n"
               "with links.hosts(Link(1e8), 2) as found:\n    print(found[0].namespace, flush=True)\n"
               "    time.sleep(60)")
    left = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert left.stdout is not None
    name = left.stdout.readline().strip()
    with links.hosts(FAST, 2):
        assert name not in links.leftovers() and (links.NAMESPACES / name).exists()  # its owner is alive
    left.send_signal(signal.SIGKILL)
    left.communicate()
    with links.hosts(FAST, 2):
        assert not (links.NAMESPACES / name).exists()


def test_a_race_over_a_link_says_so_and_its_processes_talk_over_it(linked: None, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    counts: list[int] = []

    def look(progress: Progress) -> None:
        if progress.stage == "block" and not counts:
            counts.extend(sent(path.name) for path in sorted(links.NAMESPACES.glob(f"{links.PREFIX}-{os.getpid()}-*")))

    (found,) = api.race(TINY, (TWO, ONE), link="100mbit", store=tmp_path, batch=8, threads=2, launches=2, seed=1,
                        listener=look, energy=False)
    (verdict,) = found.verdicts
    assert found.comparable and verdict.verdict == "FASTER"
    assert found.race.case.link == FAST and "links of 100 Mbit/s" in str(api.Outcome([found]))
    assert len(counts) == 2 and min(counts) > 4 * models.find(TINY).graph().parameter_count
    assert not list(links.NAMESPACES.glob(f"{links.PREFIX}-{os.getpid()}-*"))
    jsonschema.validate(json.race(found), json.schema("race"))
    assert api.load(store=tmp_path)[0].race.case.link == FAST


def wrong_sweep(**options: object) -> dict[str, object]:
    return {"batches": (8,), "task": "train", "links": ("100mbit", "1gbit"), **options}


@pytest.mark.parametrize(("options", "said"), [
    (wrong_sweep(links=("100mbit",)), "two rates"), (wrong_sweep(links=("100mbit", "100mbit+5ms")), "two rates"),
    (wrong_sweep(links=("100mbit", "1gbit+5ms")), "rate alone"), (wrong_sweep(batches=(8, 16)), "one --batch"),
    (wrong_sweep(links=(), batches=(8, 16), predict=("1gbit",)), "write --links"),
    (wrong_sweep(latency=0.1), "leave --latency"), (wrong_sweep(links=("100mbit", "fast")), "write 100mbit"),
    (wrong_sweep(task="infer"), "training steps only")])
def test_wrong_use_of_a_sweep_is_told(options: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        api.sweep(TINY, (TWO,), store=tmp_path, **options)  # type: ignore[arg-type]


def test_a_sweep_over_links_has_a_race_for_each_and_can_be_asked_again(linked: None, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    found = api.sweep(TINY, (TWO, ONE), "train", links=("100mbit", "200mbit", "1gbit"), predict=("500mbit",),
                      batches=(8,), threads=2, launches=2, seed=1, store=tmp_path, energy=False)
    (told,) = found.to_json()
    assert told["comparable"] and [each["rate"] for each in told["links"]] == [1e8, 2e8, 1e9]
    assert {each["contender"]: each["seconds_per_step"]["value"] for each in told["predictions"]} == {
        TWO: pytest.approx(0.5, rel=0.02), ONE: pytest.approx(0.9, rel=0.02)}  # its clock knows of no link
    (pair,) = told["break_even"]
    assert (pair["slow"] == TWO and pair["rate"] is None and pair["shown"]) or not pair["raced"]
    again = api.load("last", tmp_path, predict=["2gbit"])
    assert isinstance(again, LinkSweep) and again.to_json()[0]["predictions"][0]["rate"] == 2e9
    with pytest.raises(UsageError, match="leave --predict out"):
        api.load(found[0].race.id, tmp_path, predict=["2gbit"])


STUDY = f"""[study]
title = "Links"
question = "What does a slow link cost?"
contenders = ["{ONE}", "{TWO}"]

[[races]]
models = ["{TINY}"]
"""


def test_a_study_may_have_several_and_one_without_is_known_as_before(tmp_path: Path) -> None:
    file = tmp_path / "links.toml"
    file.write_text(STUDY + 'links = ["100mbit", "1gbit"]\n')
    planned = study.read(file).races
    assert [each.link for each in planned] == [FAST, Link(1e9)] and "links of 100 Mbit/s" in planned[0].title
    file.write_text(STUDY)
    (alone,) = study.read(file).races
    assert alone.link is None and len({alone.key, *(each.key for each in planned)}) == 3
    file.write_text(STUDY + 'links = ["fast"]\n')
    with pytest.raises(UsageError, match="write 100mbit"):
        study.read(file)
