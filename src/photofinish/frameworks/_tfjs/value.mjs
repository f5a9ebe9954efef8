/** Tensors as rules pass them on: channels last in memory, with the axes that the graph spells. */

import { tf } from "./tf.mjs";

/** The order of axes in memory: "CHW" lies as "HWC". */
function native(axes) {
  return axes.includes("C") ? `${axes.replace("C", "")}C` : axes;
}

/** From axes in one order to those in another, behind the batch. */
function permutation(from, to) {
  return [0, ...[...to].map((axis) => 1 + from.indexOf(axis))];
}

export class Value {
  /** `flattened`: channels and places that a feature axis was made from, whose features lie channels last; null where
   * features are in canonical order. */
  constructor(tensor, axes, flattened = null) {
    Object.assign(this, { tensor, axes, flattened });
  }

  static zeros(axes, shape, dtype) {
    const data = tf.zeros([1, ...shape], dtype);
    return new Value(tf.transpose(data, permutation(axes, native(axes))), axes);
  }

  /** Where in memory the axis with that letter is, the batch counted. */
  axis(letter) {
    return 1 + native(this.axes).indexOf(letter);
  }

  size(letter) {
    return this.tensor.shape[this.axis(letter)];
  }

  /** The same axes with other values. */
  with(tensor) {
    return new Value(tensor, this.axes, this.flattened);
  }

  /** Features in canonical order. */
  canonical() {
    if (!this.flattened) return this;
    const order = inverse(featureOrder(this.flattened));
    return new Value(tf.gather(this.tensor, tf.tensor1d(order, "int32"), 1), this.axes);
  }
}

/** Native feature i of what was flattened from so many channels and places is canonical feature order[i]. */
export function featureOrder([channels, places]) {
  return Array.from({ length: channels * places }, (_, i) => (i % channels) * places + Math.floor(i / channels));
}

export function inverse(order) {
  const found = new Array(order.length);
  order.forEach((to, from) => { found[to] = from; });
  return found;
}

/** A canonical array of a batch as the model takes it. */
export function feedOf({ dtype, shape, data }, axes) {
  const tensor = tf.tidy(() => tf.transpose(tf.tensor(data, shape, dtype), permutation(axes, native(axes))));
  return new Value(tensor, axes);
}

/** A tensor, or a value in canonical layout, as an array. */
export function readOf(given) {
  return tf.tidy(() => {
    let tensor = given;
    if (given instanceof Value) {
      const { tensor: found, axes } = given.canonical();
      tensor = tf.transpose(found, permutation(native(axes), axes));
    }
    return { dtype: tensor.dtype, shape: [...tensor.shape], data: tensor.dataSync().slice() };
  });
}
