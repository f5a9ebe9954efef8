"use strict";
// The theme (the reader's choice, else the system's), tabs between races, and the total-time calculator.

const root = document.documentElement;
root.classList.add("js");

const remembered = () => { try { return localStorage.getItem("photofinish-theme"); } catch { return null; } };
const system = matchMedia("(prefers-color-scheme: dark)");

function paint(theme) {
  root.dataset.theme = theme;
  for (const button of document.querySelectorAll(".theme")) {
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
  }
}
const wanted = () => remembered() || (system.matches ? "dark" : "light");
system.addEventListener("change", () => paint(wanted()));
let folded = [];
addEventListener("beforeprint", () => { // paper is white, and cannot be unfolded
  root.dataset.theme = "light";
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const each of folded) each.open = true;
});
addEventListener("afterprint", () => {
  for (const each of folded) each.open = false;
  paint(wanted());
});
paint(wanted());

addEventListener("DOMContentLoaded", () => {
  paint(wanted());
  for (const button of document.querySelectorAll(".theme")) {
    button.addEventListener("click", () => {
      const theme = root.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("photofinish-theme", theme); } catch { /* a file may not be allowed to remember */ }
      paint(theme);
    });
  }
  tabs([...document.querySelectorAll("[role=tab]")]);
  document.querySelectorAll(".job").forEach(calculator);
});

const panel = (button) => document.getElementById(button.getAttribute("aria-controls"));

function tabs(buttons) {
  const select = (chosen) => buttons.forEach((button) => {
    const selected = button === chosen;
    button.setAttribute("aria-selected", selected);
    button.tabIndex = selected ? 0 : -1;
    panel(button).hidden = !selected;
  });
  const turns = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  buttons.forEach((button, i) => {
    panel(button).setAttribute("role", "tabpanel"); // without scripts all races stand below each other: articles
    panel(button).setAttribute("aria-label", button.firstElementChild.textContent);
    button.addEventListener("click", () => select(button));
    button.addEventListener("keydown", (event) => {
      if (!(event.key in turns)) return;
      const next = buttons[(i + turns[event.key] + buttons.length) % buttons.length];
      select(next);
      next.focus();
      event.preventDefault();
    });
  });
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const race = target && target.closest(".race");
  if (buttons.length) select(buttons.find((button) => race && button.getAttribute("aria-controls") === race.id) || buttons[0]);
}

function calculator(box) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const [steps, epochs, items] = ["steps", "epochs", "items"].map((name) => box.querySelector(`[name=${name}]`));
  const cached = box.querySelector("[name=cached]");

  function show() {
    const count = Math.max(data.least, Number(steps.value) || 0); // what is shorter ends within a warm-up
    const totals = data.jobs.map((job) => {
      const fixed = cached && cached.checked && job.warm !== null ? job.warm : job.fixed;
      return { ...job, total: fixed + count * job.step };
    }).sort((a, b) => a.total - b.total);
    const [first, second] = totals;
    const slowest = totals[totals.length - 1].total;
    box.querySelector(".answer").textContent = `${first.name} finishes ${Math.round(count).toLocaleString("en")} step${Math.round(count) === 1 ? "" : "s"} first, `
      + `after ${duration(first.total)}`
      + (!second ? "." : `: ${duration(second.total - first.total)} before ${second.name}`
        + doubt(first, second, count, data.quantiles));
    box.querySelector("ol").replaceChildren(...totals.map((job) => bar(job, first.total, slowest)));
  }

  function bar(job, best, slowest) {
    const line = document.createElement("li");
    line.style.setProperty("--c", job.colour);
    const name = document.createElement("span");
    name.className = "contender";
    name.append(...job.name.split(/(?=\[)|(?<=,)/).flatMap((part) => [part, document.createElement("wbr")]));
    const track = document.createElement("span");
    const length = document.createElement("i");
    length.style.width = `${100 * job.total / slowest}%`;
    track.append(length);
    const time = document.createElement("b");
    time.textContent = duration(job.total);
    const more = document.createElement("em");
    more.textContent = job.total > best ? `+${percent(job.total / best - 1)}` : "";
    line.append(name, track, time, more);
    return line;
  }

  function fromEpochs() {
    if (!Number(epochs.value) || !Number(items.value)) return;
    steps.value = Math.ceil(Number(epochs.value) * Math.ceil(Number(items.value) / data.batch));
    show();
  }
  steps.addEventListener("input", () => { epochs.value = items.value = ""; show(); });
  epochs.addEventListener("input", fromEpochs);
  items.addEventListener("input", fromEpochs);
  if (cached) cached.addEventListener("change", show);
  box.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  show();
}

// Whether the launches show who is first: by the t interval of the difference of their totals, launch by launch.
function doubt(first, second, count, quantiles) {
  const shared = Object.keys(first.launches).filter((launch) => launch in second.launches);
  if (shared.length < 2) return ", by one launch, which does not show how surely.";
  const later = shared.map((launch) => {
    const [a, b] = [first, second].map((job) => job.launches[launch]);
    return b[0] - a[0] + count * (b[1] - a[1]);
  });
  const mean = later.reduce((a, b) => a + b) / later.length;
  const square = later.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (later.length - 1);
  const wide = quantiles[later.length - 2] * Math.sqrt(square / later.length);
  return second.total - first.total <= wide ? ", which is closer than the measurement can tell." : ".";
}

const percent = (share) => `${share < 0.0995 ? (100 * share).toFixed(1) : Math.round(100 * share).toLocaleString("en")} %`;

function duration(seconds) {
  for (const [size, name, fine, fineName] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]]) {
    const count = Math.round(seconds / fine);
    if (seconds < 59.95 || count * fine < size) continue;
    const whole = Math.floor(count * fine / size), rest = count - whole * size / fine;
    return `${whole.toLocaleString("en")} ${name}` + (rest && whole < 100 ? ` ${rest} ${fineName}` : "");
  }
  if (!seconds) return "0 s";
  const [size, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]].find(([size]) => seconds >= 0.9995 * size) || [1e-6, "µs"];
  const value = Number((seconds / size).toPrecision(3));
  return `${value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(value))))} ${unit}`;
}
