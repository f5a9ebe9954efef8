/** Timing one contender in one process: measure/engine.py in JavaScript. It returns raw series only. */

import { performance } from "node:perf_hooks";

import { NotFinite } from "./contract.mjs";
import { counters, foreignShare } from "./system.mjs";
import { settled } from "./warm.mjs";

const VERBS = { train: "trainStep", infer: "infer" };
const MOST_STEPS = 200; // of warming up

export class Engine {
  /** `batches` lie in the framework already and take turns; `state` is put again, untimed, before each block. */
  constructor(contestant, state, batches) {
    Object.assign(this, { contestant, state, batches, turn: 0 });
  }

  /** Seconds of one step, from the call until its work is done. */
  async step(task) {
    const batch = this.nextBatch();
    const begin = performance.now();
    await this.contestant.wait(await this.contestant[VERBS[task]](batch));
    return (performance.now() - begin) / 1e3;
  }

  /** Steps until they settle, for at most `limit` seconds; the first one carries compilation. */
  async warm(task, limit) {
    await this.contestant.put(this.state);
    const series = [await this.step(task)];
    const begin = performance.now();
    while (series.length < MOST_STEPS && performance.now() - begin < limit * 1e3 && !settled(series.slice(1))) {
      series.push(await this.step(task));
    }
    return series;
  }

  /** Timed steps after one untimed, which pays for being woken and for the state put anew. */
  async block(task, steps) {
    const { contestant } = this;
    await contestant.put(this.state);
    const resume = await this.step(task);
    const batches = Array.from({ length: steps }, () => this.nextBatch());
    const seconds = new Array(steps).fill(0);
    let handle;
    const before = counters();
    for (let i = 0; i < steps; i += 1) {
      const begin = performance.now();
      handle = await contestant[VERBS[task]](batches[i]);
      await contestant.wait(handle);
      seconds[i] = (performance.now() - begin) / 1e3;
    }
    const after = counters();
    return {
      seconds, resume, cpu: after.cpu - before.cpu, wall: after.wall - before.wall,
      faults: after.faults - before.faults, foreign: foreignShare(before, after), loss: await this.finite(handle),
    };
  }

  nextBatch() {
    this.turn += 1;
    return this.batches[this.turn % this.batches.length];
  }

  /** The loss read back (null in inference): the work was real and its result a number. */
  async finite(handle) {
    const arrays = await this.contestant.read(handle);
    for (const [name, { data }] of Object.entries(arrays)) {
      if (!data.every(Number.isFinite)) throw new NotFinite(`${name} is not finite`);
    }
    return arrays.loss ? arrays.loss.data[0] : null;
  }
}
