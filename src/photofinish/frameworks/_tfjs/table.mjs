/** Every layer in TensorFlow.js: the families' tables as one. */

import * as activation from "./activation.mjs";
import * as arithmetic from "./arithmetic.mjs";
import * as attention from "./attention.mjs";
import * as convolution from "./convolution.mjs";
import * as dense from "./dense.mjs";
import * as losses from "./losses.mjs";
import * as normalisation from "./normalisation.mjs";
import * as pooling from "./pooling.mjs";
import * as recurrent from "./recurrent.mjs";

const FAMILIES = [activation, arithmetic, attention, convolution, dense, normalisation, pooling, recurrent];

export const [RULES, LACKS] = ["RULES", "LACKS"].map((table) => Object.assign({}, ...FAMILIES.map(
  (family) => family[table])));
export const { LOSSES } = losses;
