/** Weights as variables in the layouts of the framework, made where a rule first asks for them. */

import { tf } from "./tf.mjs";
import { inverse, readOf } from "./value.mjs";

/** The way between a canonical array and its native layout: along `axis` entries are put in another order (native entry
 * i is canonical entry order[i]), then it is seen in the shape `view`, and its axes permuted. */
export class Layout {
  constructor({ order = null, axis = 0, view = null, axes = null } = {}) {
    Object.assign(this, { order, axis, view, axes });
  }

  native(tensor) {
    let found = this.order ? tf.gather(tensor, tf.tensor1d(this.order, "int32"), this.axis) : tensor;
    if (this.view) found = tf.reshape(found, this.view);
    return this.axes ? tf.transpose(found, this.axes) : found;
  }

  canonical(tensor, shape) {
    const found = tf.reshape(this.axes ? tf.transpose(tensor, inverse(this.axes)) : tensor, shape);
    return this.order ? tf.gather(found, tf.tensor1d(inverse(this.order), "int32"), this.axis) : found;
  }
}

export class Weights {
  constructor(arrays) {
    this.arrays = arrays; // what variables are made from
    this.found = new Map(); // canonical name -> { variable, layout, shape }
  }

  /** The variable of a canonical name ("parameter/<name>", "state/<name>"). */
  variable(key, layout) {
    if (!this.found.has(key)) {
      const { shape } = this.arrays[key];
      const variable = tf.variable(this.native(this.arrays[key], layout), key.startsWith("parameter/"));
      this.found.set(key, { variable, layout, shape });
    }
    return this.found.get(key).variable;
  }

  /** Parameters by canonical name, as [name, variable]. */
  get trainable() {
    return [...this.found].map(([key, { variable }]) => [key, variable]).filter(([, { trainable }]) => trainable);
  }

  put(arrays) {
    this.arrays = arrays;
    for (const [key, { variable, layout }] of this.found) {
      const native = this.native(arrays[key], layout);
      variable.assign(native);
      native.dispose(); // the variable has its values now
    }
  }

  get() {
    return Object.fromEntries([...this.found].map(([key, { variable }]) => [key, this.canonical(key, variable)]));
  }

  /** Gradients by canonical name. */
  gradients(native) {
    return Object.fromEntries(this.trainable.map(([key, { name }]) => [
      key.replace(/^parameter/, "gradient"), this.canonical(key, native[name])]));
  }

  /** A tensor in the layout of that variable as a canonical array. */
  canonical(key, tensor) {
    const { layout, shape } = this.found.get(key);
    return tf.tidy(() => readOf(layout.canonical(tensor, shape)));
  }

  /** A canonical array in the layout of that variable. */
  slot(key, given) {
    return this.native(given, this.found.get(key).layout);
  }

  native({ shape, data }, layout) {
    return tf.tidy(() => layout.native(tf.tensor(data, shape, "float32")).clone());
  }

  dispose() {
    for (const { variable } of this.found.values()) variable.dispose();
  }
}
