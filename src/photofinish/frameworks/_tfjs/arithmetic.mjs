/** Sums, products, and layers that only move values. */

import { tf } from "./tf.mjs";
import { Value, featureOrder } from "./value.mjs";

/** Features keep the order in which they lie in memory: what reads them has its weights in that order. */
function flatten(use, x) {
  const tensor = tf.reshape(x.tensor, [x.tensor.shape[0], -1]);
  const channels = x.axes.startsWith("C") ? x.size("C") : 1; // with channels last already both orders are one
  const places = tensor.shape[1] / channels;
  return new Value(tensor, "C", channels > 1 && places > 1 ? [channels, places] : null);
}

function concat({ layer: { axis } }, ...parts) {
  const plain = parts.map((each) => each.canonical());
  return new Value(tf.concat(plain.map(({ tensor }) => tensor), plain[0].axis(axis)), plain[0].axes);
}

/** Both in one order of features: theirs if it is the same, else the canonical one. */
function both(run) {
  return (use, left, right) => {
    const alike = String(left.flattened) === String(right.flattened);
    const [a, b] = alike ? [left, right] : [left.canonical(), right.canonical()];
    return a.with(run(a.tensor, b.tensor));
  };
}

/** Positions start to stop - 1 of an axis. */
export function part(x, letter, start, stop) {
  const { tensor, axes } = x.canonical();
  const begin = tensor.shape.map(() => 0);
  const size = [...tensor.shape];
  begin[x.axis(letter)] = start;
  size[x.axis(letter)] = stop - start;
  return new Value(tf.slice(tensor, begin, size), axes);
}

function select({ layer: { axis, index } }, x) {
  const found = part(x, axis, index, index + 1);
  return new Value(tf.squeeze(found.tensor, [x.axis(axis)]), x.axes.replace(axis, ""));
}

function pad({ layer: { padding } }, x) {
  return x.with(padded(x.tensor, padding, 0));
}

/** An image with a constant around it; where an amount is negative, cropped. */
export function padded(tensor, [top, left, bottom, right], value) {
  const [batch, height, width, channels] = tensor.shape;
  const crop = [top, left, bottom, right].map((each) => Math.max(0, -each));
  const kept = crop.some(Boolean) ? tf.slice(tensor, [0, crop[0], crop[1], 0],
    [batch, height - crop[0] - crop[2], width - crop[1] - crop[3], channels]) : tensor;
  const more = [top, left, bottom, right].map((each) => Math.max(0, each));
  return more.some(Boolean)
    ? tf.pad(kept, [[0, 0], [more[0], more[2]], [more[1], more[3]], [0, 0]], value) : kept;
}

/** A parameter over the features of x, in their order. */
export function featureWise(use, own, x, axis = 0) {
  return use.variable(own, x.flattened ? { order: featureOrder(x.flattened), axis } : {});
}

export const RULES = {
  Flatten: flatten,
  Add: both((left, right) => tf.add(left, right)),
  Multiply: both((left, right) => tf.mul(left, right)),
  Concat: concat,
  Scale: ({ layer: { factor } }, x) => x.with(tf.mul(x.tensor, factor)),
  Pad: pad,
  Slice: ({ layer: { axis, start, stop } }, x) => part(x, axis, start, stop),
  Select: select,
  Stack: (use, ...parts) => new Value(tf.stack(parts.map((each) => each.canonical().tensor), 1), "TC"),
  ImageToSequence: (use, x) => new Value(tf.reshape(x.tensor, [x.tensor.shape[0], -1, x.size("C")]), "TC"),
  RowsToSequence: (use, x) => new Value(tf.reshape(x.tensor, [x.tensor.shape[0], x.size("H"), -1]), "TC"),
  ChannelScale: (use, x) => x.with(tf.mul(x.tensor, featureWise(use, "weight", x))),
};
