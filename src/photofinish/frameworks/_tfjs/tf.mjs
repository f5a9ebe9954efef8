/** The library itself, with what its WebAssembly backend lacks, or gets wrong, in training. */

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

export const tf = require("@tensorflow/tfjs");
require("@tensorflow/tfjs-backend-wasm");

/** Makes the backend ready. */
export async function start() {
  await tf.setBackend("wasm");
  await tf.ready();
  if (tf.getKernel("Conv2DBackpropFilter", "wasm")) return;
  for (const [kernelName, kernelFunc] of Object.entries(LACKING)) {
    tf.registerKernel({ kernelName, backendName: "wasm", kernelFunc });
  }
  const own = tf.getKernel("MaxPoolGrad", "wasm");
  tf.unregisterKernel("MaxPoolGrad", "wasm");
  tf.registerKernel({ ...own, kernelFunc: (call) => poolGradient(call, own.kernelFunc) });
}

/** What each place of the kernel saw of an image: for every window the value there. */
function seen(image, info, row, column) {
  const down = row + (info.outHeight - 1) * info.strideHeight + 1;
  const across = column + (info.outWidth - 1) * info.strideWidth + 1;
  return tf.stridedSlice(image, [0, row, column, 0], [info.batchSize, down, across, info.inChannels],
    [1, info.strideHeight, info.strideWidth, 1]);
}

function places({ filterHeight, filterWidth }) {
  return Array.from({ length: filterHeight * filterWidth },
    (_, i) => [Math.floor(i / filterWidth), i % filterWidth]);
}

/** The gradient of a convolution's weight: for each place of the kernel a product of what it saw with the gradient. */
function weightGradient({ inputs: { x, dy }, attrs: { strides, pad, dimRoundingMode, filterShape } }) {
  const info = tf.backend_util.computeConv2DInfo(x.shape, filterShape, strides, 1, pad, dimRoundingMode);
  const { top, bottom, left, right } = info.padInfo;
  return tf.tidy(() => {
    const image = tf.pad(x, [[0, 0], [top, bottom], [left, right], [0, 0]]);
    const arrived = tf.reshape(dy, [-1, info.outChannels]);
    const products = places(info).map(([row, column]) => tf.matMul(
      tf.reshape(seen(image, info, row, column), [-1, info.inChannels]), arrived, true));
    return tf.reshape(tf.stack(products), filterShape);
  });
}

/** The same of a depthwise convolution, each of whose products is one channel's. */
function depthwiseWeightGradient({ inputs: { x, dy }, attrs: { strides, pad, dimRoundingMode, filterShape } }) {
  const info = tf.backend_util.computeConv2DInfo(x.shape, filterShape, strides, 1, pad, dimRoundingMode, true);
  const { top, bottom, left, right } = info.padInfo;
  return tf.tidy(() => {
    const image = tf.pad(x, [[0, 0], [top, bottom], [left, right], [0, 0]]);
    const arrived = tf.reshape(dy, [-1, ...filterShape.slice(2)]);
    const products = places(info).map(([row, column]) => tf.sum(tf.mul(
      tf.reshape(seen(image, info, row, column), [-1, info.inChannels, 1]), arrived), 0));
    return tf.reshape(tf.stack(products), filterShape);
  });
}

/** The gradient of its input: for each place of the kernel what arrived times the weight there, at the place. */
function depthwiseInputGradient({ inputs: { dy, filter }, attrs: { strides, pad, dimRoundingMode, inputShape } }) {
  const info = tf.backend_util.computeConv2DInfo(inputShape, filter.shape, strides, 1, pad, dimRoundingMode, true);
  const { top, bottom, left, right } = info.padInfo;
  const padded = { ...info, inHeight: info.inHeight + top + bottom, inWidth: info.inWidth + left + right };
  const [, , channels, multiple] = filter.shape;
  return tf.tidy(() => {
    const arrived = tf.reshape(dy, [-1, channels, multiple]);
    const shape = [info.batchSize, info.outHeight, info.outWidth, channels];
    const total = places(info).map(([row, column]) => {
      const weight = tf.reshape(tf.slice(filter, [row, column, 0, 0], [1, 1, channels, multiple]),
        [1, channels, multiple]);
      return spread(tf.reshape(tf.sum(tf.mul(arrived, weight), 2), shape), padded, row, column);
    }).reduce((sum, each) => tf.add(sum, each));
    return tf.slice(total, [0, top, left, 0], inputShape);
  });
}

/** The gradient of a lookup in a table: a product with one-hot vectors adds up what the rows received. */
function segmentSum({ inputs: { x, segmentIds }, attrs: { numSegments } }) {
  return tf.tidy(() => {
    const chosen = tf.cast(tf.oneHot(segmentIds, numSegments), "float32"); // the backend makes integers of either type
    const sums = tf.matMul(chosen, tf.reshape(x, [x.shape[0], -1]), true);
    return tf.reshape(sums, [numSegments, ...x.shape.slice(1)]);
  });
}

/**
 * The gradient of a pool without padding. The backend's own kernel (4.22.0) gives windows that hold negative values
 * alone no gradient (test_layers saw it): of such images it is made of a mask for each place of the window, the first
 * that holds the maximum.
 */
function poolGradient(call, own) {
  const { inputs: { dy, input }, attrs: { filterSize, strides, pad, dimRoundingMode } } = call;
  if (tf.tidy(() => tf.min(input).dataSync()[0]) >= 0) return own(call);
  const info = tf.backend_util.computePool2DInfo(input.shape, filterSize, strides, 1, pad, dimRoundingMode);
  return tf.tidy(() => {
    const most = tf.maxPool(input, filterSize, strides, pad, dimRoundingMode);
    let open = tf.onesLike(most);
    let total = tf.zerosLike(input);
    for (const [row, column] of places(info)) {
      const found = tf.mul(tf.cast(tf.equal(seen(input, info, row, column), most), "float32"), open);
      open = tf.sub(open, found);
      total = tf.add(total, spread(tf.mul(dy, found), info, row, column));
    }
    return total;
  });
}

/** Values of windows at the place of the image where that place of each window lies, zeros elsewhere. */
function spread(values, { batchSize, outHeight, outWidth, strideHeight, strideWidth, inHeight, inWidth, inChannels },
  row, column) {
  const across = strideWidth === 1 ? values : tf.reshape(tf.concat([values, tf.zeros(
    [batchSize, outHeight, outWidth, (strideWidth - 1) * inChannels])], 3),
  [batchSize, outHeight, outWidth * strideWidth, inChannels]);
  const line = outWidth * strideWidth * inChannels;
  const down = strideHeight === 1 ? across : tf.reshape(tf.concat([tf.reshape(across, [batchSize, outHeight, line]),
    tf.zeros([batchSize, outHeight, (strideHeight - 1) * line])], 2),
  [batchSize, outHeight * strideHeight, outWidth * strideWidth, inChannels]);
  const [height, width] = [(outHeight - 1) * strideHeight + 1, (outWidth - 1) * strideWidth + 1];
  const kept = tf.slice(down, [0, 0, 0, 0], [batchSize, height, width, inChannels]);
  return tf.pad(kept, [[0, 0], [row, inHeight - height - row], [column, inWidth - width - column], [0, 0]]);
}

const LACKING = {
  Conv2DBackpropFilter: weightGradient,
  DepthwiseConv2dNativeBackpropFilter: depthwiseWeightGradient,
  DepthwiseConv2dNativeBackpropInput: depthwiseInputGradient,
  UnsortedSegmentSum: segmentSum,
};
