/** Elementwise functions and random layers. */

import { tf } from "./tf.mjs";

/** A function of every element. */
function elementwise(run) {
  return ({ layer }, x) => x.with(run(x.tensor, layer));
}

/** A random layer: masks of its own at each step of training, the values themselves otherwise. */
function random(shapeOf) {
  return ({ layer: { rate }, training }, x) => training && rate > 0
    ? x.with(tf.dropout(x.tensor, rate, shapeOf(x.tensor.shape))) : x;
}

function gelu(x, { approximate }) {
  if (approximate === "tanh") {
    const inner = tf.mul(tf.add(x, tf.mul(tf.mul(tf.square(x), x), 0.044715)), Math.sqrt(2 / Math.PI));
    return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1));
  }
  return tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));
}

/** The operation knows an alpha of 1; the rest is a sum of the two sides. */
function elu(x, { alpha }) {
  return alpha === 1 ? tf.elu(x) : tf.add(tf.relu(x), tf.mul(tf.elu(tf.neg(tf.relu(tf.neg(x)))), alpha));
}

export const RULES = {
  Relu: elementwise((x) => tf.relu(x)),
  Clip: elementwise((x, { low, high }) => low === 0 && high === 6 ? tf.relu6(x) : tf.clipByValue(x, low, high)),
  Sigmoid: elementwise((x) => tf.sigmoid(x)),
  Tanh: elementwise((x) => tf.tanh(x)),
  Swish: elementwise((x) => tf.mul(x, tf.sigmoid(x))),
  LeakyRelu: elementwise((x, { alpha }) => tf.leakyRelu(x, alpha)),
  Elu: elementwise(elu),
  Gelu: elementwise(gelu),
  Dropout: random((shape) => shape),
  StochasticDepth: random(([batch, ...shape]) => [batch, ...shape.map(() => 1)]),
};
