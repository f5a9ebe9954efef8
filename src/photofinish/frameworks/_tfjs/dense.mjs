/** Products with a weight, and tables that are looked up or added. */

import { featureWise } from "./arithmetic.mjs";
import { tf } from "./tf.mjs";
import { Value } from "./value.mjs";

function linear(use, x) {
  const { shape } = x.tensor;
  const rows = tf.reshape(x.tensor, [-1, shape.at(-1)]);
  const product = tf.matMul(rows, featureWise(use, "weight", x, 1), false, true);
  const sum = use.has("bias") ? tf.add(product, use.variable("bias")) : product;
  return new Value(tf.reshape(sum, [...shape.slice(0, -1), -1]), x.axes);
}

function embedding(use, ids) {
  return new Value(tf.gather(use.variable("weight"), ids.tensor), `${ids.axes}C`);
}

function classToken(use, x) {
  const [batch, , channels] = x.tensor.shape;
  const token = tf.broadcastTo(tf.reshape(use.variable("weight"), [1, 1, channels]), [batch, 1, channels]);
  return x.with(tf.concat([token, x.tensor], 1));
}

function learnedPositions(use, x) {
  const [, length, channels] = x.tensor.shape;
  return x.with(tf.add(x.tensor, tf.slice(use.variable("weight"), [0, 0], [length, channels])));
}

function sinusoidalPositions(use, x) {
  const [, length, channels] = x.tensor.shape;
  const table = Float32Array.from({ length: length * channels }, (_, i) => {
    const [position, channel] = [Math.floor(i / channels), i % channels];
    const angle = position * 1e4 ** (-2 * Math.floor(channel / 2) / channels);
    return channel % 2 ? Math.cos(angle) : Math.sin(angle);
  });
  return x.with(tf.add(x.tensor, tf.tensor(table, [1, length, channels])));
}

/** A product with a matrix of ones and zeros picks the pairs below the diagonal. */
function pairwiseDots(use, x) {
  const [batch, count] = x.tensor.shape;
  const pairs = [];
  for (let i = 1; i < count; i += 1) for (let j = 0; j < i; j += 1) pairs.push(i * count + j);
  const picked = new Float32Array(count * count * pairs.length);
  pairs.forEach((place, i) => { picked[place * pairs.length + i] = 1; });
  const dots = tf.reshape(tf.matMul(x.tensor, x.tensor, false, true), [batch, count * count]);
  return new Value(tf.matMul(dots, tf.tensor(picked, [count * count, pairs.length])), "C");
}

export const RULES = {
  Linear: linear,
  Embedding: embedding,
  EmbeddingBag: (use, ids) => new Value(tf.sum(tf.gather(use.variable("weight"), ids.tensor), 1), "C"),
  ClassToken: classToken,
  LearnedPositions: learnedPositions,
  SinusoidalPositions: sinusoidalPositions,
  MatMul: (use, matrix, x) => x.with(tf.matMul(matrix.tensor, x.tensor)),
  PairwiseDots: pairwiseDots,
};
