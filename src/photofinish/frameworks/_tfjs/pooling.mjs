/** Pools and means, channels last. */

import { padded } from "./arithmetic.mjs";
import { tf } from "./tf.mjs";
import { Value } from "./value.mjs";

/** How many windows fit along one axis: layers/windows.py. */
function windows(size, kernel, stride, before, after, ceil) {
  const span = size + before + after - kernel;
  let steps = ceil ? Math.ceil(span / stride) : Math.floor(span / stride);
  if (ceil && steps * stride >= size + before) steps -= 1;
  return steps + 1;
}

/** An image with what its windows reach over put around it, the padding of the layer or more. */
function reached({ kernel, stride, padding: [top, left, bottom, right], ceil }, tensor, value) {
  const [, height, width] = tensor.shape;
  const needed = [[height, top, bottom], [width, left, right]].map(([size, before, after], i) => (
    windows(size, kernel[i], stride[i], before, after, ceil) - 1) * stride[i] + kernel[i] - size - before);
  return padded(tensor, [top, left, Math.max(0, needed[0]), Math.max(0, needed[1])], value);
}

function maxPool({ layer }, x) {
  const image = reached(layer, x.tensor, Number.MIN_SAFE_INTEGER);
  return x.with(tf.maxPool(image, layer.kernel, layer.stride, "valid"));
}

function averagePool({ layer }, x) {
  const image = reached(layer, x.tensor, 0);
  const mean = tf.avgPool(image, layer.kernel, layer.stride, "valid");
  if (image === x.tensor) return x.with(mean);
  const factors = shares(layer, x.tensor.shape, mean.shape);
  return x.with(tf.mul(mean, tf.tensor(factors, [1, mean.shape[1], mean.shape[2], 1])));
}

/** What a mean over whole windows is to be multiplied by, to be one over what counts of them. */
function shares({ kernel, stride, padding: [top, left, bottom, right], count_padding: counting },
  [, height, width], [, rows, columns]) {
  const counted = (index, i, size, before, after) => {
    const [from, to] = counting ? [-before, size + after] : [0, size];
    const start = index * stride[i] - before;
    return Math.min(start + kernel[i], to) - Math.max(start, from);
  };
  return Float32Array.from({ length: rows * columns }, (_, place) => kernel[0] * kernel[1]
    / counted(Math.floor(place / columns), 0, height, top, bottom) / counted(place % columns, 1, width, left, right));
}

/** The means of bins along one axis. */
function binned(tensor, axis, count) {
  const size = tensor.shape[axis];
  const bins = Array.from({ length: count }, (_, i) => {
    const start = Math.floor(i * size / count);
    const begin = tensor.shape.map((__, each) => each === axis ? start : 0);
    const shape = tensor.shape.map((length, each) => each === axis ? Math.ceil((i + 1) * size / count) - start
      : length);
    return tf.mean(tf.slice(tensor, begin, shape), axis, true);
  });
  return tf.concat(bins, axis);
}

function maskedMean(use, x, mask) {
  const counted = tf.expandDims(tf.cast(mask.tensor, "float32"), 2);
  return new Value(tf.div(tf.sum(tf.mul(x.tensor, counted), 1), tf.sum(counted, 1)), "C");
}

export const RULES = {
  MaxPool: maxPool,
  AveragePool: averagePool,
  AdaptiveAveragePool: ({ layer: { size } }, x) => x.with(binned(binned(x.tensor, 1, size[0]), 2, size[1])),
  GlobalAveragePool: ({ layer: { keep_axes: kept } }, x) => new Value(tf.mean(x.tensor, [1, 2], kept),
    kept ? "CHW" : "C"),
  MaskedMean: maskedMean,
};
