"""The HTML report in a real browser: its script runs, computes and complains of nothing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import factories
from photofinish.render import html
from photofinish.render.document import Calculator, Document, Job, Paragraph, Section
from photofinish.render.quantities import duration
from photofinish.reports.race import document

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in BROWSERS if (path := shutil.which(name))), "")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium is installed")

JOBS = (Job("fast:compiled", 20.0, 0.010, 5.0, {1: (5.2, 0.0099), 2: (4.8, 0.0101), 3: (5.0, 0.010)}),
        Job("slow:eager", 1.0, 0.020, None, {1: (1.0, 0.0199), 2: (0.9, 0.0201), 3: (1.1, 0.020)}))
# Loads an image and a script from outside, which the page's own policy must forbid.
FORBIDDEN = '<img src="http://127.0.0.1:9/x.png"><script src="http://127.0.0.1:9/x.js"></script>'


def opened(tmp_path: Path, page: str, act: str = "", *arguments: str) -> tuple[str, str]:
    """The document as the browser has it after `act` ran, and what its console said."""
    script = f"<script>addEventListener('load', () => {{ {act} }});</script></body>"
    path = tmp_path / "report.html"
    path.write_text(page.replace("</body>", script), encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=3000", *arguments,
         "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(console)


def page(*documents: Document) -> str:
    return html.render(documents)


@pytest.fixture
def calculator() -> str:
    block = Calculator(JOBS, steps=100, batch=8, unit="images", quantiles=(12.7, 4.30), least=40)
    return page(Document("t", "s", "t", ("x",), tuple(job.name for job in JOBS), (Section("a", "A", (block,)),)))


def title(dom: str) -> str:
    found = re.search(r"<title>(.*?)</title>", dom)
    assert found
    return found[1]


ACTS = (
    ("", "slow:eager finishes 100 steps first, after 3.00 s: 18.0 s before fast:compiled."),
    ("type(steps, 3)", "slow:eager finishes 40 steps first, after 1.80 s: 18.6 s before fast:compiled."),
    ("type(steps, 10000)", "fast:compiled finishes 10,000 steps first, after 2 min: 1 min 21 s before slow:eager."),
    ("type(steps, 1901)", "fast:compiled finishes 1,901 steps first, after 39.0 s: 10.0 ms before slow:eager, which is "
                          "closer than the measurement can tell."),
    ("type(epochs, 2); type(items, 50001)",
     "fast:compiled finishes 12,502 steps first, after 2 min 25 s: 1 min 46 s before slow:eager."),
    ("cached.click(); type(steps, 1000)",
     "fast:compiled finishes 1,000 steps first, after 15.0 s: 6.00 s before slow:eager."),
)


def test_the_calculator_answers_at_once_and_follows_the_reader(tmp_path: Path, calculator: str) -> None:
    setup = """
        const [steps, epochs, items, cached] = ['steps', 'epochs', 'items', 'cached'].map(
            (name) => document.querySelector(`[name=${name}]`));
        const type = (box, value) => { box.value = value; box.dispatchEvent(new Event('input')); };
        const answers = [];
        const note = () => answers.push(document.querySelector('.answer').textContent);"""
    acts = "".join(f"{act}; note();" for act, _ in ACTS)
    dom, console = opened(tmp_path, calculator, setup + acts + "document.title = answers.join('|');")
    assert title(dom).split("|") == [expected for _, expected in ACTS]
    assert dom.count("<li style") == len(JOBS)
    assert not console


def test_the_page_writes_durations_as_the_rest_does(tmp_path: Path) -> None:
    values = [0.0, 1e-5, 0.0482, 0.009999999, 0.9994, 0.9996, 3.1, 12.34, 59.4, 59.97, 60.0, 252.0, 3599.9, 7500.0,
              270_000.0]
    empty = page(Document("t", "s", "t", ("x",), (), (Section("a", "A", (Paragraph(("x",)),)),)))
    dom, console = opened(tmp_path, empty, f"document.title = {values}.map(duration).join('|');")
    assert title(dom).split("|") == [duration(value) for value in values]
    assert not console


def test_a_report_of_two_races_opens_on_the_first_and_turns_to_the_second(tmp_path: Path) -> None:
    both = page(*(document(make(), ("verdict", "total-time")) for make in (factories.decided, factories.inference)))
    dom, console = opened(tmp_path, both, """
        const shown = () => [...document.querySelectorAll('.race')].map((race) => !race.hidden).join(',');
        const before = shown();
        document.querySelectorAll('[role=tab]')[1].click();
        const named = [...document.querySelectorAll('[role=tabpanel]')].map((each) => each.ariaLabel);
        document.title = [before, shown(), ...named].join('|');""")
    assert title(dom) == "true,false|false,true|resnet18, training|resnet18, inference"
    assert "torch:compile runs inference on resnet18" in re.sub(r"<[^>]+>", "", dom)
    assert not console


def test_in_a_notebook_the_contents_lead_to_places_of_the_report(tmp_path: Path) -> None:
    frame = html.embedded([document(factories.decided(), ("verdict", "total-time"))])
    dom, console = opened(tmp_path, f"<html><body><h1>the notebook</h1>{frame}</body></html>", """
        const inside = document.querySelector('iframe');
        [...inside.contentDocument.querySelectorAll('.contents a')].pop().click();
        setTimeout(() => {
          document.title = inside.contentDocument.querySelector('h1').textContent + inside.contentWindow.location.hash;
        }, 500);""", "--disable-web-security")
    assert title(dom) == "resnet18, training#race1-total-time"
    assert not console


def test_one_launch_does_not_say_who_surely_finishes_first(tmp_path: Path) -> None:
    shown = page(document(factories.one_launch(), ("total-time",)))
    dom, _ = opened(tmp_path, shown, "document.title = document.querySelector('.answer').textContent;")
    assert "by one launch, which does not show how surely." in title(dom)


def test_the_theme_follows_the_system_until_the_reader_chooses(tmp_path: Path, calculator: str) -> None:
    dom, console = opened(tmp_path, calculator, """
        const seen = [document.documentElement.dataset.theme];
        document.querySelector('.theme').click();
        document.title = seen.concat(document.documentElement.dataset.theme).join('|');""")
    assert sorted(title(dom).split("|")) == ["dark", "light"]
    assert not console


def test_the_policy_forbids_loading_anything(tmp_path: Path, calculator: str) -> None:
    _, console = opened(tmp_path, calculator.replace("</main>", FORBIDDEN + "</main>"))
    assert console.count("Content Security Policy") >= 2
