/** The framework's own optimizers: tf.train.momentum and tf.train.adam follow the rules of optimizers.py. */

import { array } from "../../node/npz.mjs";
import { tf } from "./tf.mjs";

const RULES = {
  sgd: { slots: ["velocity"], make: ({ learning_rate: rate, momentum }) => tf.train.momentum(rate, momentum) },
  adam: { slots: ["moment1", "moment2"],
    make: ({ learning_rate: rate, beta1, beta2, epsilon }) => tf.train.adam(rate, beta1, beta2, epsilon) },
};

/** An optimizer with the slots and the step among canonical arrays; without slots it starts anew. */
export async function optimizerOf(rule, weights, arrays) {
  const { slots, make } = RULES[rule.kind];
  const optimizer = make(rule);
  const keys = slotKeys(slots, weights);
  if (!keys.every(([slot]) => slot in arrays)) return optimizer;
  const step = tf.scalar(Number(arrays.step?.data[0] ?? 0), "int32");
  const given = [{ name: "iter", tensor: step },
    ...keys.map(([slot, key]) => ({ name: slot, tensor: weights.slot(key, arrays[slot]) }))];
  await optimizer.setWeights(given);
  tf.dispose(given.map(({ tensor }) => tensor)); // its variables have their values now
  return optimizer;
}

/** Its slots and the step as canonical arrays. */
export async function slotsOf(rule, optimizer, weights) {
  const [step, ...native] = await optimizer.getWeights();
  const found = slotKeys(RULES[rule.kind].slots, weights).map(([slot, key], i) => [slot,
    native.length ? weights.canonical(key, native[i].tensor) : zeros(weights.found.get(key).shape)]);
  const count = (await step.tensor.data())[0];
  step.tensor.dispose();
  return { ...Object.fromEntries(found), step: array("int64", [], [BigInt(count)]) };
}

/** "<slot>/<parameter>" and "parameter/<parameter>", in the order in which the framework keeps them. */
function slotKeys(slots, weights) {
  return slots.flatMap((slot) => weights.trainable.map(([key]) => [key.replace(/^parameter/, slot), key]));
}

function zeros(shape) {
  return { dtype: "float32", shape, data: new Float32Array(shape.reduce((a, b) => a * b, 1)) };
}
