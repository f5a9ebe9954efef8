/** Attention: what one sequence takes from another. */

import { tf } from "./tf.mjs";

const HIDDEN = -1e30; // a score of what may not be looked at: its exponential is zero in float32

/** (batch, T, C) to (batch, heads, T, C / heads). */
function heads({ tensor }, count) {
  const [batch, length, channels] = tensor.shape;
  return tf.transpose(tf.reshape(tensor, [batch, length, count, channels / count]), [0, 2, 1, 3]);
}

/** Scores with what a mask over the keys hides put far below all others. */
function shown(scores, mask) {
  if (!mask) return scores;
  const [batch, length] = mask.tensor.shape;
  const places = tf.reshape(mask.tensor, [batch, ...new Array(scores.rank - 2).fill(1), length]);
  return tf.where(tf.broadcastTo(places, scores.shape), scores, tf.fill(scores.shape, HIDDEN));
}

function attention({ layer: { heads: count, causal } }, query, key, value, mask) {
  const [q, k, v] = [query, key, value].map((each) => heads(each, count));
  let scores = shown(tf.mul(tf.matMul(q, k, false, true), q.shape[3] ** -0.5), mask);
  if (causal) {
    const seen = tf.linalg.bandPart(tf.ones([q.shape[2], k.shape[2]]), -1, 0);
    scores = tf.add(scores, tf.mul(tf.sub(1, seen), HIDDEN));
  }
  const mixed = tf.transpose(tf.matMul(tf.softmax(scores), v), [0, 2, 1, 3]);
  return query.with(tf.reshape(mixed, [mixed.shape[0], mixed.shape[1], -1]));
}

function additive(use, query, key, value, mask) {
  const weight = use.variable("weight");
  const direction = tf.mul(use.variable("scale"), tf.div(weight, tf.sqrt(tf.sum(tf.square(weight)))));
  const sums = tf.add(tf.expandDims(query.tensor, 2), tf.expandDims(key.tensor, 1));
  const scores = tf.sum(tf.mul(tf.tanh(tf.add(sums, use.variable("bias"))), direction), -1);
  return query.with(tf.matMul(tf.softmax(shown(scores, mask)), value.tensor));
}

export const RULES = { Attention: attention, AdditiveAttention: additive };
