/** Normalisations over the last axis, where the channels are. */

import { featureWise } from "./arithmetic.mjs";
import { tf } from "./tf.mjs";

function batchNorm(use, x) {
  const { epsilon, momentum, running_variance: kind } = use.layer;
  const channels = x.tensor.shape.at(-1);
  const scale = use.has("weight") ? featureWise(use, "weight", x) : tf.ones([channels]); // its gradient wants one,
  const center = use.has("bias") ? featureWise(use, "bias", x) : tf.zeros([channels]); // its kernel wants the other
  const running = ["running_mean", "running_variance"].map((own) => featureWise(use, own, x));
  let [mean, variance] = running;
  if (use.training) {
    const axes = x.tensor.shape.slice(0, -1).map((_, axis) => axis);
    ({ mean, variance } = tf.moments(x.tensor, axes));
    if (use.updating) {
      const count = x.tensor.size / channels;
      const factor = kind === "sample" ? count / (count - 1) : 1;
      [mean, tf.mul(variance, factor)].forEach((seen, i) => {
        running[i].assign(tf.add(tf.mul(running[i], momentum), tf.mul(seen, 1 - momentum)));
      });
    }
  }
  const images = tf.reshape(x.tensor, [-1, 1, 1, channels]); // batchNorm wants two to four axes
  const made = tf.batchNorm(x.tensor.rank === 3 ? images : x.tensor, mean, variance, center, scale, epsilon);
  return x.with(tf.reshape(made, x.tensor.shape));
}

function layerNorm(use, x) {
  const { mean, variance } = tf.moments(x.tensor, -1, true);
  let made = tf.mul(tf.sub(x.tensor, mean), tf.rsqrt(tf.add(variance, use.layer.epsilon)));
  if (use.has("weight")) made = tf.mul(made, featureWise(use, "weight", x));
  return x.with(use.has("bias") ? tf.add(made, featureWise(use, "bias", x)) : made);
}

function localResponseNorm({ layer: { size, alpha, beta, bias } }, x) {
  return x.with(tf.localResponseNormalization(x.tensor, (size - 1) / 2, bias, alpha / size, beta));
}

export const LACKS = {
  LocalResponseNorm: ({ size }) => size % 2 === 0 && "an even number of channels has no form here",
};
export const RULES = { BatchNorm: batchNorm, LayerNorm: layerNorm, LocalResponseNorm: localResponseNorm };
