/** Convolutions, channels last. */

import { tf } from "./tf.mjs";

function around([top, left, bottom, right]) {
  return [[0, 0], [top, bottom], [left, right], [0, 0]];
}

function biased(use, x, tensor) {
  return x.with(use.has("bias") ? tf.add(tensor, use.variable("bias")) : tensor);
}

function conv(use, x) {
  const { kernel, stride, padding, dilation, groups, channels } = use.layer;
  return biased(use, x, convolved(use, x.tensor, { kernel, stride, padding, dilation, groups, channels }));
}

function convolved(use, tensor, { kernel, stride, padding, dilation, groups, channels }) {
  const inputs = tensor.shape[3];
  const pads = around(padding);
  if (groups > 1 && groups === inputs) {
    const weight = use.variable("weight", { view: [groups, channels / groups, ...kernel], axes: [2, 3, 0, 1] });
    if (stride[0] === stride[1]) return tf.depthwiseConv2d(tensor, weight, stride, pads, "NHWC", dilation);
    const every = tf.depthwiseConv2d(tensor, weight, 1, pads, "NHWC", dilation); // the operation knows one stride
    return tf.avgPool(every, 1, stride, "valid");
  }
  const weight = use.variable("weight", { view: [channels, inputs / groups, ...kernel], axes: [2, 3, 1, 0] });
  const one = (image, filter) => tf.conv2d(image, filter, stride, pads, "NHWC", dilation);
  if (groups === 1) return one(tensor, weight);
  const [images, filters] = [tf.split(tensor, groups, 3), tf.split(weight, groups, 3)];
  return tf.concat(images.map((image, i) => one(image, filters[i])), 3);
}

function transposed(use, x) {
  const { kernel, stride, padding: [top, left, bottom, right], channels } = use.layer;
  const [batch, height, width] = x.tensor.shape;
  const size = [(height - 1) * stride[0] + kernel[0], (width - 1) * stride[1] + kernel[1]];
  const weight = use.variable("weight", { axes: [2, 3, 1, 0] });
  const whole = tf.conv2dTranspose(x.tensor, weight, [batch, ...size, channels], stride, "valid");
  const kept = top + left + bottom + right ? tf.slice(whole, [0, top, left, 0],
    [batch, size[0] - top - bottom, size[1] - left - right, channels]) : whole;
  return biased(use, x, kept);
}

function sequence(use, x) {
  const { kernel, stride, padding: [before, after], groups, channels } = use.layer;
  const image = convolved(use, tf.expandDims(x.tensor, 1), { kernel: [1, kernel], stride: [1, stride],
    padding: [0, before, 0, after], dilation: [1, 1], groups, channels });
  return biased(use, x, tf.squeeze(image, [1]));
}

/** What a rule cannot make, and why. */
export const LACKS = {
  Conv: ({ dilation }, training) => training && Math.max(...dilation) > 1
    && "TensorFlow.js has no gradient of a dilated convolution",
};
export const RULES = { Conv: conv, ConvTranspose: transposed, SequenceConv: sequence };
