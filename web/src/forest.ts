// SPDX-License-Identifier: Apache-2.0
// How much of a result each parameter explains: functional analysis of variance on a forest
// of regression trees (Hutter, Hoos, Leyton-Brown 2014). A tree is a partition of the space into
// boxes with a mean each, so its variance, and that of its mean along one parameter, are sums
// over boxes. The same numbers in, the same numbers out: the generator is seeded.

export interface Dimension {
  name: string;
  /** Of a choice: its values, which are numbered. */
  choices?: string[];
}

export interface Importance {
  name: string;
  share: number;
}

export const TREES = 64;
const LEAST = 2; // rows that a node must have to be split
const DEEPEST = 64;

function generator(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let x = a;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

interface Box {
  low: Float64Array;
  high: Float64Array;
  mean: number;
}

interface Split {
  dim: number;
  at: number;
  gain: number;
}

/** The cut of one column that leaves the least squared error. */
function bestCut(x: Float64Array[], y: Float64Array, rows: number[], dim: number): Split {
  const column = x[dim]!;
  const order = [...rows].sort((a, b) => column[a]! - column[b]!);
  let total = 0;
  for (const r of order) total += y[r]!;
  const best: Split = { dim, at: 0, gain: 0 };
  const base = (total * total) / order.length;
  let left = 0;
  for (let i = 0; i + 1 < order.length; i++) {
    left += y[order[i]!]!;
    const here = column[order[i]!]!;
    const next = column[order[i + 1]!]!;
    if (here === next) continue;
    const right = total - left;
    const gain = (left * left) / (i + 1) + (right * right) / (order.length - i - 1) - base;
    if (gain > best.gain + 1e-12) Object.assign(best, { at: (here + next) / 2, gain });
  }
  return best;
}

function grow(x: Float64Array[], y: Float64Array, rows: number[], low: Float64Array, high: Float64Array, depth: number, out: Box[]): void {
  let best: Split = { dim: -1, at: 0, gain: 0 };
  if (rows.length >= LEAST && depth < DEEPEST)
    for (let d = 0; d < x.length; d++) {
      const s = bestCut(x, y, rows, d);
      if (s.gain > best.gain) best = s;
    }
  if (best.dim < 0) {
    let sum = 0;
    for (const r of rows) sum += y[r]!;
    out.push({ low, high, mean: sum / rows.length });
    return;
  }
  const column = x[best.dim]!;
  const leftHigh = high.slice();
  const rightLow = low.slice();
  leftHigh[best.dim] = rightLow[best.dim] = best.at;
  grow(x, y, rows.filter((r) => column[r]! <= best.at), low, leftHigh, depth + 1, out);
  grow(x, y, rows.filter((r) => column[r]! > best.at), rightLow, high, depth + 1, out);
}

/** Shares of one tree's variance: of each dimension alone. */
function sharesOf(boxes: Box[], low: Float64Array, high: Float64Array): number[] | null {
  const dims = low.length;
  const part = (b: Box, d: number) => {
    const whole = high[d]! - low[d]!;
    return whole > 0 ? (b.high[d]! - b.low[d]!) / whole : 1;
  };
  let mean = 0;
  const volumes = boxes.map((b) => {
    let v = 1;
    for (let d = 0; d < dims; d++) v *= part(b, d);
    mean += v * b.mean;
    return v;
  });
  let variance = 0;
  boxes.forEach((b, i) => (variance += volumes[i]! * (b.mean - mean) ** 2));
  if (variance <= 0) return null;
  const shares: number[] = [];
  for (let d = 0; d < dims; d++) {
    // the mean along d is constant between two neighbouring cuts
    const cuts = [...new Set(boxes.flatMap((b) => [b.low[d]!, b.high[d]!]))].sort((a, b) => a - b);
    const sums = new Float64Array(Math.max(0, cuts.length - 1));
    boxes.forEach((b, i) => {
      const width = part(b, d);
      const rest = width > 0 ? volumes[i]! / width : 0;
      for (let k = cuts.indexOf(b.low[d]!); k < sums.length && cuts[k]! < b.high[d]!; k++) sums[k]! += rest * b.mean;
    });
    let own = 0;
    for (let k = 0; k < sums.length; k++) own += ((cuts[k + 1]! - cuts[k]!) / (high[d]! - low[d]! || 1)) * (sums[k]! - mean) ** 2;
    shares.push(own / variance);
  }
  return shares;
}

/** `x`: one column per dimension. Sorted, the most important first; the shares sum to one. */
export function importance(dims: Dimension[], x: Float64Array[], y: Float64Array, seed = 1): Importance[] {
  const random = generator(seed);
  // of a choice every value takes the same room, also the first and the last
  const room = (d: number) => (dims[d]!.choices ? 0.5 : 0);
  const low = Float64Array.from(x, (c, d) => c.reduce((a, b) => Math.min(a, b), Infinity) - room(d));
  const high = Float64Array.from(x, (c, d) => c.reduce((a, b) => Math.max(a, b), -Infinity) + room(d));
  const sums = new Float64Array(dims.length);
  for (let k = 0; k < TREES; k++) {
    const rows = Array.from(y, () => Math.floor(random() * y.length));
    const boxes: Box[] = [];
    grow(x, y, rows, low.slice(), high.slice(), 0, boxes);
    sharesOf(boxes, low, high)?.forEach((s, d) => (sums[d]! += s));
  }
  const total = sums.reduce((a, b) => a + b, 0) || 1;
  return dims.map((d, i) => ({ name: d.name, share: sums[i]! / total })).sort((a, b) => b.share - a.share);
}
