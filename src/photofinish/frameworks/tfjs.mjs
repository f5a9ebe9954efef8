// /// script
// requires-python = ">=3.6"
// dependencies = []
// [tool.photofinish]
// title = "TensorFlow.js"
// npm = ["@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0"]
// system = ["node"]
// build-system = ["npm"]
// download = "75 MB"
// disk = "310 MB"
// modes = ["wasm"]
// devices = ["cpu"]
// options = {}
// ///
/**
 * TensorFlow.js in Node.js, on its WebAssembly backend: the graph as operations, channels last, trained by its own
 * optimizers.
 *
 * The backend runs one thread in Node.js, whatever is asked for, and keeps denormals: WebAssembly has no other way.
 * It lacks kernels for the gradients of convolutions' weights, of depthwise convolutions and of tables, which are made
 * of products here.
 */

import { Unsupported, chosen } from "../node/contract.mjs";
import { array } from "../node/npz.mjs";
import { checked, forward, trainingLoss } from "./_tfjs/model.mjs";
import { optimizerOf, slotsOf } from "./_tfjs/optimizers.mjs";
import { start, tf } from "./_tfjs/tf.mjs";
import { Value, feedOf, readOf } from "./_tfjs/value.mjs";
import { Weights } from "./_tfjs/weights.mjs";

export class Contestant {
  static ready = start;

  constructor(setup) {
    if (setup.mode !== "wasm") throw new Unsupported(`TensorFlow.js has no mode ${setup.mode} here`);
    if (setup.device !== "cpu") throw new Unsupported(`TensorFlow.js has no device ${setup.device} here`);
    if (setup.precision !== "float32") throw new Unsupported(`it computes in float32, not ${setup.precision}`);
    chosen(setup, {});
    this.setup = setup;
  }

  facts() {
    return {
      version: tf.version.tfjs, node_version: process.versions.node, backend: tf.getBackend(),
      simd: tf.env().get("WASM_HAS_SIMD_SUPPORT"), threads: 1, device: this.setup.device,
    };
  }

  build(graph, batch, optimizer) {
    checked(graph, Boolean(optimizer));
    this.dispose();
    Object.assign(this, { graph, rule: optimizer, weights: undefined, optimizer: undefined });
  }

  async put(arrays) {
    if (this.weights) this.weights.put(arrays);
    else this.weights = this.made(arrays);
    if (this.rule) {
      this.optimizer?.dispose();
      this.optimizer = await optimizerOf(this.rule, this.weights, arrays);
    }
  }

  async get() {
    const found = { ...this.weights.get(), step: array("int64", [], [0n]) };
    return this.rule ? { ...found, ...await slotsOf(this.rule, this.optimizer, this.weights) } : found;
  }

  feed(arrays) {
    const declared = [...this.graph.inputs, ...this.graph.targets].filter(([name]) => name in arrays);
    return Object.fromEntries(declared.map(([name, [axes]]) => [name, feedOf(arrays[name], axes)]));
  }

  infer(batch) {
    return this.kept(tf.tidy(() => this.outputs(forward(this.graph, batch, this.weights, {}))));
  }

  trainStep(batch) {
    const { value, grads } = this.backward(batch, { updating: true });
    this.optimizer.applyGradients(this.variables().map(({ name }) => ({ name, tensor: grads[name] })));
    tf.dispose(grads);
    return this.kept({ loss: value });
  }

  gradients(batch) {
    let outputs;
    const { value, grads } = this.backward(batch, {
      seen: (tensors) => { outputs = this.outputs(tensors, (tensor) => tf.keep(tensor.clone())); },
    });
    const found = { loss: readOf(value), ...this.read(outputs), ...this.weights.gradients(grads) };
    tf.dispose([value, grads, Object.values(outputs).map((each) => each.tensor)]);
    return found;
  }

  free(batch) {
    tf.dispose(Object.values(batch).map(({ tensor }) => tensor));
  }

  dispose() {
    this.weights?.dispose();
    this.optimizer?.dispose();
  }

  /** Each operation has finished when it returns. */
  wait() {}

  read(handle) {
    return Object.fromEntries(Object.entries(handle).map(([name, each]) => [name, readOf(each)]));
  }

  probe(name, { a, b }) {
    return tf.tidy(() => {
      const [left, right] = [a, b].map((each) => tf.tensor(each.data, each.shape));
      const found = { matmul: () => tf.matMul(left, right), multiply: () => tf.mul(left, right),
        conv: () => tf.transpose(tf.conv2d(tf.transpose(left, [0, 2, 3, 1]), tf.transpose(right, [2, 3, 1, 0]), 1, 1),
          [0, 3, 1, 2]) }[name]();
      return readOf(found);
    });
  }

  /** The kernels of one inference, as the framework's own profile counts them. */
  async evidence() {
    const { kernels } = await tf.profile(() => tf.tidy(() => {
      forward(this.graph, this.sample(), this.weights, {});
    }));
    const counts = {};
    for (const { name } of kernels) counts[name] = (counts[name] ?? 0) + 1;
    return { kernels: counts };
  }

  /** Native weights: their layouts follow from a run on a sample of zeros. */
  made(arrays) {
    const weights = new Weights(arrays);
    tf.tidy(() => { forward(this.graph, this.sample(), weights, { training: Boolean(this.rule) }); });
    return weights;
  }

  variables() {
    return this.weights.trainable.map(([, variable]) => variable);
  }

  sample() {
    return Object.fromEntries(this.graph.inputs.map(([name, [axes, shape, dtype]]) => [name,
      Value.zeros(axes, shape, dtype)]));
  }

  /** The outputs of the graph among its tensors; one of training only is none of inference. */
  outputs(tensors, keep = (tensor) => tensor) {
    const there = this.graph.outputs.filter((name) => tensors.has(name));
    return Object.fromEntries(there.map((name) => {
      const { tensor, axes, flattened } = tensors.get(name);
      return [`output/${name}`, new Value(keep(tensor), axes, flattened)];
    }));
  }

  /** The loss and its gradients by the names of variables; zeros for what it does not hang on. */
  backward(batch, { updating = false, seen = () => {} }) {
    const variables = this.variables();
    const { value, grads } = tf.variableGrads(() => {
      const tensors = forward(this.graph, batch, this.weights, { training: true, updating });
      seen(tensors);
      return trainingLoss(this.graph, tensors, batch);
    }, variables);
    for (const variable of variables) grads[variable.name] ??= tf.zerosLike(variable);
    return { value, grads };
  }

  /** What a step returned: it can be read until the next one. */
  kept(handle) {
    const tensors = Object.values(handle).map((each) => each.tensor ?? each);
    tf.dispose(this.last);
    this.last = tensors;
    return handle;
  }
}
