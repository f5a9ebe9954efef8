/** A graph, run as operations. */

import { readFileSync } from "node:fs";

import { Unsupported } from "../../node/contract.mjs";
import { LACKS, LOSSES, RULES } from "./table.mjs";
import { tf } from "./tf.mjs";
import { Layout } from "./weights.mjs";

const SUPPORT = JSON.parse(readFileSync(new URL("./support.json", import.meta.url), "utf8"));

/** What a rule is given: one use of a layer. */
class Use {
  constructor(node, weights, running, keys) {
    Object.assign(this, { node, weights, keys, layer: node.layer, ...running });
    this.own = Object.fromEntries([...node.parameters, ...node.state]);
  }

  has(own) {
    return own in this.own;
  }

  /** The variable of the array that the layer calls so, in that layout. */
  variable(own, layout = {}) {
    return this.weights.variable(this.keys(this.own[own]), new Layout(layout));
  }

  /** Runs a graph inside this layer on values by name; gives its outputs. */
  inner(graph, given) {
    const names = this.own;
    const tensors = run(graph, given, this.weights, this, (name) => this.keys(names[name] ?? name));
    return graph.outputs.map((name) => tensors.get(name));
  }
}

/** Throws Unsupported, naming the layer, if a rule is missing or cannot make it. */
export function checked(graph, training) {
  for (const { name, layer, training_only: only } of graph.nodes) {
    if (only && !training) continue;
    const { kind, body } = layer;
    const why = kind in RULES ? LACKS[kind]?.(layer, training) : reason(kind);
    if (why) throw new Unsupported(`${name} (${kind}): ${why}`);
    if (body) checked(body.graph, training);
  }
  for (const { layer: { kind } } of training ? graph.losses : []) {
    if (!(kind in LOSSES)) throw new Unsupported(`${kind}: ${reason(kind)}`);
  }
}

function reason(kind) {
  return SUPPORT.absent[kind] ?? "nobody has written it for this framework";
}

/** Every tensor of a graph by name. In `training` layers behave so; `updating` says whether running statistics move. */
export function forward(graph, batch, weights, { training = false, updating = false }) {
  const state = new Set(graph.nodes.flatMap((node) => node.state.map(([, name]) => name)));
  return run(graph, batch, weights, { training, updating },
    (name) => `${state.has(name) ? "state" : "parameter"}/${name}`);
}

function run(graph, batch, weights, running, keys) {
  const { training, updating } = running;
  const tensors = new Map(Object.entries(batch));
  for (const node of graph.nodes) {
    if (node.training_only && !training) continue;
    const use = new Use(node, weights, { training, updating }, keys);
    const made = RULES[node.layer.kind](use, ...node.inputs.map((name) => tensors.get(name)));
    [made].flat().forEach((value, i) => tensors.set(node.outputs[i], value));
  }
  return tensors;
}

/** The weighted sum of the losses. */
export function trainingLoss(graph, tensors, batch) {
  return graph.losses.map(({ layer, prediction, target, weight }) => {
    const value = LOSSES[layer.kind](layer, tensors.get(prediction), batch[target]);
    return weight === 1 ? value : tf.mul(value, weight);
  }).reduce((total, each) => tf.add(total, each));
}
