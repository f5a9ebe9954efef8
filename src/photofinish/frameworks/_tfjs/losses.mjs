/** Losses: a number from a prediction and a target. */

import { tf } from "./tf.mjs";

/** Over logSoftmax: tf.losses.softmaxCrossEntropy loses digits of logits far apart (test_layers saw it). */
function softmaxCrossEntropy({ label_smoothing: smoothing, ignore }, prediction, target) {
  const classes = prediction.size("C");
  const logits = tf.reshape(prediction.canonical().tensor, [-1, classes]);
  const labels = tf.reshape(target.tensor, [-1]);
  const wanted = tf.add(tf.mul(tf.oneHot(labels, classes), 1 - smoothing), smoothing / classes);
  const losses = tf.neg(tf.sum(tf.mul(wanted, tf.logSoftmax(logits)), 1));
  if (ignore === null) return tf.mean(losses);
  const counted = tf.cast(tf.notEqual(labels, tf.scalar(ignore, "int32")), "float32");
  return tf.div(tf.sum(tf.mul(losses, counted)), tf.sum(counted));
}

export const LOSSES = {
  SoftmaxCrossEntropy: softmaxCrossEntropy,
  BinaryCrossEntropy: (layer, prediction, target) => tf.losses.sigmoidCrossEntropy(target.canonical().tensor,
    prediction.canonical().tensor),
};
