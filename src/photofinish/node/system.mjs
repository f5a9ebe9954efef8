/** What the operating system says of this process and of the machine around it: measure/system.py in JavaScript. */

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { performance } from "node:perf_hooks";

const TICKS = 100; // a second of /proc/stat, on every Linux there is
const CORES = cpus().length;

/** Seconds of wall clock and own CPU, minor page faults, and CPU seconds that the whole machine has used. */
export function counters() {
  const usage = process.resourceUsage();
  return {
    wall: performance.now() / 1e3, cpu: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
    faults: usage.minorPageFault, busy: machineBusy(),
  };
}

/** The share of the machine's CPU time that went to others between two readings; null if unknown. */
export function foreignShare(before, after) {
  const wall = after.wall - before.wall;
  if (before.busy === null || after.busy === null || wall <= 0) return null;
  return Math.max(0, (after.busy - before.busy - (after.cpu - before.cpu)) / (wall * CORES));
}

function machineBusy() {
  const line = contents("/proc/stat")?.split("\n")[0];
  if (line === undefined) return null;
  const [user, nice, system, , , irq, softirq, steal] = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS;
}

/** Lets the peak resident set start anew from the present one, where the kernel allows it. */
export function resetPeakMemory() {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
  } catch { /* elsewhere the peak is that of the process */ }
}

/** Peak resident set in bytes since the last reset. */
export function peakMemory() {
  const row = contents("/proc/self/status")?.match(/^VmHWM:\s+(\d+) kB$/m);
  return row ? Number(row[1]) * 1024 : process.resourceUsage().maxRSS * 1024;
}

/** Pins this process, with the threads it has and will have, to cores listed as "0,1". Node.js itself cannot. */
export function stayOn(cores) {
  execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", cores, String(process.pid)],
    { stdio: ["ignore", "ignore", "inherit"] });
}

/** CPU seconds of each living thread of this process, by its number (Linux; elsewhere nothing). */
export function secondsOfThreads() {
  let threads = [];
  try {
    threads = readdirSync("/proc/self/task");
  } catch { /* not Linux */ }
  const seconds = threads.map((thread) => [thread, contents(`/proc/self/task/${thread}/schedstat`)]);
  return new Map(seconds.filter(([, text]) => text)
    .map(([thread, text]) => [thread, Number(text.split(" ")[0]) / 1e9]));
}

function contents(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
