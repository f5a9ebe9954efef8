/** Loops over time, written out step by step. */

import { tf } from "./tf.mjs";
import { Value } from "./value.mjs";

/** A direction of a recurrent layer over (batch, T, C): its outputs, in the order of the positions. */
function direction(use, x, prefix, cell) {
  const [batch, length, channels] = x.tensor.shape;
  const names = ["input_bias", "bias"].map((own) => prefix + own).filter((own) => use.has(own));
  const rows = tf.reshape(x.tensor, [-1, channels]);
  const inputs = tf.add(tf.matMul(rows, use.variable(`${prefix}input_weight`), false, true), use.variable(names[0]));
  const steps = tf.unstack(tf.reshape(inputs, [batch, length, -1]), 1);
  const weight = use.variable(`${prefix}recurrent_weight`);
  const bias = use.has(`${prefix}recurrent_bias`) ? use.variable(`${prefix}recurrent_bias`) : null;
  const zeros = tf.zeros([batch, use.layer.features]);
  let state = [zeros, zeros];
  const outputs = (prefix ? [...steps].reverse() : steps).map((step) => {
    state = cell(use.layer, step, state, weight, bias);
    return state[0];
  });
  return tf.stack(prefix ? outputs.reverse() : outputs, 1);
}

function recurrent(cell) {
  return (use, x) => {
    const prefixes = use.layer.bidirectional ? ["", "backward_"] : [""];
    const found = prefixes.map((prefix) => direction(use, x, prefix, cell));
    return x.with(found.length > 1 ? tf.concat(found, 2) : found[0]);
  };
}

function product(state, weight, bias) {
  const found = tf.matMul(state, weight, false, true);
  return bias ? tf.add(found, bias) : found;
}

function lstm(layer, step, [hidden, memory], weight, bias) {
  const [input, forget, cell, output] = tf.split(tf.add(step, product(hidden, weight, bias)), 4, 1);
  const kept = tf.add(tf.mul(tf.sigmoid(forget), memory), tf.mul(tf.sigmoid(input), tf.tanh(cell)));
  return [tf.mul(tf.sigmoid(output), tf.tanh(kept)), kept];
}

function gru({ features, reset_after: after }, step, [hidden], weight, bias) {
  const part = (tensor, from, count) => tf.slice(tensor, [0, from * features], [-1, count * features]);
  const rows = (from, count) => tf.slice(weight, [from * features, 0], [count * features, features]);
  const whole = after ? product(hidden, weight, bias) : tf.matMul(hidden, rows(0, 2), false, true);
  const [update, reset] = tf.split(tf.sigmoid(tf.add(part(step, 0, 2), part(whole, 0, 2))), 2, 1);
  const proposed = after ? tf.mul(reset, part(whole, 2, 1)) : tf.matMul(tf.mul(reset, hidden), rows(2, 1), false, true);
  const proposal = tf.tanh(tf.add(part(step, 2, 1), proposed));
  return [tf.add(tf.mul(update, hidden), tf.mul(tf.sub(1, update), proposal)), null];
}

function scan(use, first, sequence) {
  const { graph } = use.layer.body;
  const [carryName, stepName] = graph.inputs.map(([name]) => name);
  let carry = first.canonical();
  const outputs = tf.unstack(sequence.tensor, 1).map((step) => {
    const [next, out] = use.inner(graph, { [carryName]: carry, [stepName]: new Value(step, "C") });
    carry = next.canonical();
    return out.canonical();
  });
  return [carry, new Value(tf.stack(outputs.map(({ tensor }) => tensor), 1), `T${outputs[0].axes}`)];
}

export const RULES = { LSTM: recurrent(lstm), GRU: recurrent(gru), Scan: scan };
