// /// script
// requires-python = ">=3.11"
// dependencies = ["onnx==1.23.2", "numpy"]
// [tool.photofinish]
// title = "ONNX Runtime for Node.js"
// npm = ["onnxruntime-node@1.30.0"]
// system = ["node"]
// build-system = ["npm"]
// download = "140 MB"
// disk = "415 MB"
// modes = ["default"]
// tasks = ["infer"]
// devices = ["cpu"]
// options = { optimization = ["all", "extended", "basic", "disabled"], spinning = ["on", "off"] }
// ///
/**
 * ONNX Runtime in JavaScript: a session of the graph's ONNX model, which a Python beside it has written, as users
 * export where they trained.
 *
 * Phases: `build` and `weights` hold that Python's start. Like the engine in Python it trains nothing, and the first
 * inference after other weights makes the session.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Unsupported, chosen } from "../node/contract.mjs";
import { array, bytesOf, writeNpz } from "../node/npz.mjs";

const ort = createRequire(import.meta.url)("onnxruntime-node");

const EXPORT = "photofinish.frameworks._onnx.export";
const ROOMS = fileURLToPath(new URL("../../", import.meta.url));
const UNSUPPORTED = 3; // the exporter's exit code
const QUIET = 3; // errors only
const INFERENCE_ONLY = "ONNX Runtime for Node.js runs inference only";

export class Contestant {
  constructor(setup) {
    if (setup.mode !== "default") throw new Unsupported(`ONNX Runtime for Node.js has no mode ${setup.mode}`);
    if (setup.device !== "cpu") throw new Unsupported(`ONNX Runtime for Node.js has no device ${setup.device} here`);
    if (setup.precision !== "float32") throw new Unsupported(`the graph runs in float32 here, not ${setup.precision}`);
    const { optimization, spinning } = chosen(setup, {
      optimization: ["all", "extended", "basic", "disabled"], spinning: ["on", "off"] });
    Object.assign(this, { setup, optimization, spinning, arrays: {}, probes: {} });
    this.folder = mkdtempSync(join(process.cwd(), "onnx-")); // the race's own, which goes with it
  }

  facts() {
    const { intraOpNumThreads, interOpNumThreads } = this.options();
    return {
      version: ort.env.versions.node ?? ort.env.versions.common, node_version: process.versions.node,
      device: this.setup.device, optimization: this.optimization,
      intra_op_threads: intraOpNumThreads ?? "one per core", inter_op_threads: interOpNumThreads ?? "one per core",
      spinning: this.spinning,
    };
  }

  options() {
    const usual = { executionProviders: ["cpu"], graphOptimizationLevel: this.optimization, logSeverityLevel: QUIET };
    const pool = { allow_spinning: this.spinning === "on" ? "1" : "0" };
    const session = { intra_op: pool, inter_op: pool };
    if (this.setup.regime !== "matched") return { ...usual, extra: { session } };
    return {
      ...usual, intraOpNumThreads: this.setup.threads, interOpNumThreads: 1,
      extra: { session: { ...session, set_denormal_as_zero: "1" } },
    };
  }

  build(graph, batch) {
    this.graph = this.file("graph.json");
    writeFileSync(this.graph, JSON.stringify(graph));
    this.batch = batch;
    this.outline = this.exported("outline", this.graph, batch);
    Object.assign(this, { session: undefined, written: false });
  }

  async put(arrays) {
    const kept = Object.fromEntries(Object.entries(arrays).filter(([name]) => /^(parameter|state)\//.test(name)));
    if (this.written && same(kept, this.arrays)) return;
    await this.session?.release();
    this.session = undefined;
    const [state, model] = [this.file("state.npz"), this.file("model.onnx")];
    writeNpz(state, kept);
    this.exported("model", this.graph, this.batch, state, model);
    this.written = true;
    this.arrays = kept;
  }

  get() {
    return { ...this.arrays, step: array("int64", [], [0n]) };
  }

  feed(arrays) {
    this.last = Object.fromEntries(Object.entries(this.outline.inputs).map(([name, dtype]) => [name,
      new ort.Tensor(dtype, arrays[name].data, arrays[name].shape)]));
    return this.last;
  }

  async infer(batch) {
    this.session ??= await ort.InferenceSession.create(this.file("model.onnx"), this.options());
    return this.session.run(batch);
  }

  trainStep() {
    throw new Unsupported(INFERENCE_ONLY);
  }

  gradients() {
    throw new Unsupported(INFERENCE_ONLY);
  }

  /** The engine has finished when its promise is kept. */
  wait() {}

  read(handle) {
    return Object.fromEntries(this.outline.outputs.map((name) => [`output/${name}`, taken(handle[name])]));
  }

  async probe(name, operands) {
    if (!this.probes[name] || !same(operands, this.probes[name].operands)) {
      const [arrays, model] = [this.file("operands.npz"), this.file("operation.onnx")];
      writeNpz(arrays, operands);
      const { inputs } = this.exported("operation", name, arrays, model);
      const feeds = Object.keys(inputs).map((key) => [key,
        new ort.Tensor("float32", operands[key].data, operands[key].shape)]);
      const session = await ort.InferenceSession.create(model, this.options());
      this.probes = { [name]: { operands, session, feeds: Object.fromEntries(feeds) } }; // the last one alone
    }
    const { session, feeds } = this.probes[name];
    return taken((await session.run(feeds)).result);
  }

  /** The kernels that ONNX Runtime's own profiler saw in one inference. */
  async evidence() {
    const prefix = this.file("profile");
    const session = await ort.InferenceSession.create(this.file("model.onnx"),
      { ...this.options(), enableProfiling: true, profileFilePrefix: prefix });
    await session.run(this.last);
    session.endProfiling();
    await session.release();
    const name = readdirSync(this.folder).find((each) => each.startsWith("profile"));
    const kernels = {};
    for (const event of JSON.parse(readFileSync(this.file(name), "utf8"))) {
      if (!event.name.endsWith("_kernel_time")) continue;
      kernels[event.args.op_name] = (kernels[event.args.op_name] ?? 0) + 1;
    }
    return { kernels };
  }

  file(name) {
    return join(this.folder, name);
  }

  /** What the exporter says of what it wrote. */
  exported(...command) {
    const run = spawnSync("python", ["-m", EXPORT, ...command.map(String)], { cwd: ROOMS, encoding: "utf8" });
    if (run.error) throw run.error;
    if (run.status === UNSUPPORTED) throw new Unsupported(run.stderr.trim().split("\n").at(-1));
    if (run.status !== 0) throw new Error(`the exporter ended with ${run.status ?? run.signal}: ${run.stderr}`);
    return JSON.parse(run.stdout);
  }
}

function taken(tensor) {
  return { dtype: tensor.type, shape: [...tensor.dims], data: tensor.data.slice() };
}

/** Whether arrays by name are the same, value by value. */
function same(left, right) {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => name in right
    && bytesOf(left[name].data).equals(bytesOf(right[name].data)));
}
