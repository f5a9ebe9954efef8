/** When to stop warming up: the rule of measure/warm.py, where its constants are explained. */

const LEAST = 3, MOMENT = 0.25, MOST_SHORT = 50, CALM = 0.01, WIDEST = 20, SAME = 0.01;
const STANDARD_ERRORS = 2, MEDIAN_ERROR = 1.2533;

/** Whether the last steps (seconds) are level. */
export function settled(series) {
  if (series.length < LEAST || (sum(series) < MOMENT && series.length < MOST_SHORT)) return false;
  const logs = series.map((each) => Math.log(Math.max(each, 1e-12)));
  if (logs.length < 2 * LEAST) {
    const last = logs.slice(-LEAST);
    return Math.max(...last) - Math.min(...last) < CALM;
  }
  const width = Math.min(Math.max(LEAST, Math.floor(logs.length / 3)), WIDEST);
  const window = logs.slice(-2 * width);
  const change = Math.abs(median(window.slice(width)) - median(window.slice(0, width)));
  return change <= SAME || (change <= noiseOfChange(window) && !trend(window));
}

function noiseOfChange(window) {
  const differences = window.slice(1).map((each, i) => Math.abs(each - window[i]));
  const step = 1.4826 * median(differences) / Math.SQRT2;
  return STANDARD_ERRORS * MEDIAN_ERROR * step * Math.sqrt(4 / window.length);
}

function trend(window) {
  const n = window.length;
  const score = sum(window.map((each, i) => sum(window.slice(i + 1).map((later) => Math.sign(later - each)))));
  return score ** 2 > n * (n - 1) * (2 * n + 5) / 18;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function sum(values) {
  return values.reduce((total, each) => total + each, 0);
}
