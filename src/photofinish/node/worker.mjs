/**
 * The child in JavaScript: requests on standard input, answers on standard output, one JSON object a line each.
 *
 * Started as `node worker.mjs` from a copied folder. NODE_PATH leads to the packages of its environment. Proofs and
 * probes it leaves to its parent. Protocol: docs/reference/protocol.md.
 */

import { readFileSync, writeSync } from "node:fs";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";

import { Unsupported } from "./contract.mjs";
import { Engine } from "./engine.mjs";
import { readNpz, writeNpz } from "./npz.mjs";
import { counters, peakMemory, resetPeakMemory, secondsOfThreads, stayOn } from "./system.mjs";

const PROTOCOL = 1;
const LEAVES = ["probe", "prove", "confirm", "free_runs"];
const BUSY_LOOPS = 5, BUSY_SECONDS = 0.1;

/** Holds the one contestant of this process. Each method is a request; it returns the answer. */
class Worker {
  /** Calls one of VERBS on the arrays in a file and writes those that come of it to another. */
  async verb({ name, given, result }) {
    if (!(name in VERBS)) throw new Unsupported(`there is no verb ${name}`);
    writeNpz(result, await VERBS[name](this.contestant, readNpz(given)));
    return {};
  }

  async load({ framework, setup, sabotage }) {
    if (Object.keys(sabotage).length) throw new Unsupported("faults can be planted in workers in Python alone");
    const begin = performance.now();
    const { Contestant } = await import(`../frameworks/${framework.replaceAll("-", "_")}.mjs`);
    await Contestant.ready?.();
    const seconds = since(begin);
    this.contestant?.dispose?.();
    this.contestant = new Contestant({ options: {}, device: "cpu", threads: 1, precision: "float32", regime: "matched",
      ...setup });
    return { seconds, facts: await this.contestant.facts() };
  }

  async build({ graph, batch, optimizer }) {
    const found = JSON.parse(readFileSync(graph, "utf8"));
    const begin = performance.now();
    await this.contestant.build(found, batch, optimizer);
    return { seconds: since(begin), differences: [] };
  }

  async weights({ state, batches, count }) {
    const arrays = readNpz(state);
    const drawn = Object.entries(readNpz(batches));
    const parts = Array.from({ length: count }, (_, i) => Object.fromEntries(drawn
      .filter(([key]) => key.startsWith(`${i}/`)).map(([key, values]) => [key.slice(key.indexOf("/") + 1), values])));
    let begin = performance.now();
    await this.contestant.put(arrays);
    const seconds = since(begin);
    begin = performance.now();
    const fed = [];
    for (const each of parts) fed.push(await this.contestant.feed(each));
    this.engine = new Engine(this.contestant, arrays, fed);
    return { seconds, transfer: since(begin) };
  }

  async warm({ task, limit }) {
    return { series: await this.engine.warm(task, limit) };
  }

  async block({ task, steps }) {
    return this.engine.block(task, steps);
  }

  async predict({ inputs, outputs }) {
    return this.verb({ name: "infer", given: inputs, result: outputs });
  }

  async witness({ given }) {
    return { threads: await threads(this.contestant, readNpz(given)), evidence: await this.contestant.evidence() };
  }
}

const REQUESTS = ["load", "build", "weights", "warm", "block", "predict", "verb", "witness"];
const VERBS = {
  put: async (contestant, arrays) => (await contestant.put(arrays), {}),
  get: (contestant) => contestant.get(),
  infer: fed(async (contestant, batch) => contestant.read(await contestant.infer(batch))),
  train_step: fed(async (contestant, batch) => contestant.read(await contestant.trainStep(batch))),
  gradients: fed((contestant, batch) => contestant.gradients(batch)),
  ...Object.fromEntries(["matmul", "conv", "multiply"].map((name) => [name,
    async (contestant, arrays) => ({ result: await contestant.probe(name, arrays) })])),
};

/** What is done with a batch that is fed for it and freed again. */
function fed(act) {
  return async (contestant, arrays) => {
    const batch = await contestant.feed(arrays);
    try {
      return await act(contestant, batch);
    } finally {
      contestant.free?.(batch);
    }
  };
}

/** How many threads work while a matrix product repeats: measure/probes.py says what the figures are. */
async function threads(contestant, operands) {
  await contestant.probe("matmul", operands);
  const before = secondsOfThreads();
  let most = 0;
  for (let loop = 0; loop < BUSY_LOOPS; loop += 1) {
    const begin = counters();
    let now = begin;
    while (now.wall - begin.wall < BUSY_SECONDS) {
      await contestant.probe("matmul", operands);
      now = counters();
    }
    most = Math.max(most, (now.cpu - begin.cpu) / (now.wall - begin.wall));
  }
  const spent = [...secondsOfThreads()].map(([thread, seconds]) => seconds - (before.get(thread) ?? 0));
  const [total, squares] = spent.reduce(([sum, square], each) => [sum + each, square + each * each], [0, 0]);
  return { at_once: most, taking_part: squares ? total * total / squares : null, alive: spent.length || null,
    allowed: availableParallelism() };
}

/** The reply to one request: { ok: true, ... } or { ok: false, kind, message }. */
async function answer(worker, { do: name, ...given }) {
  if (!REQUESTS.includes(name)) return { ok: false, kind: "unsupported", message: `there is no request ${name}` };
  resetPeakMemory();
  try {
    return { ...await worker[name](given), ok: true, memory: peakMemory(), device_memory: null };
  } catch (error) {
    process.stderr.write(`${error.stack}\n`);
    return { ok: false, kind: failureKind(error), message: `${error.name}: ${error.message}` };
  }
}

const KINDS = { Unsupported: "unsupported", NotFinite: "nan" };
const OUT_OF_MEMORY = ["out of memory", "bad_alloc", "array buffer allocation failed", "invalid array length"];

/** Names an error in the words of the protocol. */
function failureKind(error) {
  if (OUT_OF_MEMORY.some((sign) => String(error.message).toLowerCase().includes(sign))) return "out of memory";
  if (["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"].includes(error.code)) return "missing";
  return KINDS[error.name] ?? "crash";
}

function since(begin) {
  return (performance.now() - begin) / 1e3;
}

/** Answers until standard input closes. What libraries print goes to the log. */
async function main() {
  process.stdout.write = process.stderr.write.bind(process.stderr);
  if (process.env.PHOTOFINISH_CORES) stayOn(process.env.PHOTOFINISH_CORES);
  const say = (message) => writeSync(1, `${JSON.stringify(message)}\n`);
  say({ ok: true, protocol: PROTOCOL, python: `node ${process.versions.node}`, memory: peakMemory(), leaves: LEAVES });
  const worker = new Worker();
  for await (const line of createInterface({ input: process.stdin })) say(await answer(worker, JSON.parse(line)));
  process.exit(0);
}

await main();
