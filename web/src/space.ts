// SPDX-License-Identifier: Apache-2.0
// Parameters of trials as columns of numbers, for charts and for the forest.
import type { Dimension } from "./forest";
import { value } from "./format";

export interface Trial {
  trial: number;
  id: string;
  status: string;
  value: number | null;
  values?: Record<string, number>;
  parameters: Record<string, unknown>;
  job: string;
  created: number;
  started: number;
  ended: number;
  intermediate: (number | null)[];
  message: string;
}

/** Nested choices become names with dots: `layer.units`. */
export function flatten(parameters: Record<string, unknown>, at = ""): Record<string, unknown> {
  const out = Object.create(null) as Record<string, unknown>; // a parameter may be named __proto__
  for (const [k, v] of Object.entries(parameters)) {
    const name = at ? `${at}.${k}` : k;
    if (v && typeof v === "object" && !Array.isArray(v)) Object.assign(out, flatten(v as Record<string, unknown>, name));
    else out[name] = v;
  }
  return out;
}

export interface Column extends Dimension {
  /** A range over several powers of ten is drawn by logarithms. */
  log: boolean;
  low: number;
  high: number;
  of: (trial: Trial) => number | null;
  label: (v: number) => string;
}

export function columnsOf(trials: Trial[]): Column[] {
  const rows = new Map(trials.map((t) => [t, flatten(t.parameters)]));
  const names = [...new Set([...rows.values()].flatMap((r) => Object.keys(r)))];
  return names.map((name) => {
    const seen = [...rows.values()].map((r) => r[name]).filter((v) => v !== undefined);
    const numeric = seen.every((v) => typeof v === "number" && Number.isFinite(v));
    if (!numeric) {
      const choices = [...new Set(seen.map(value))].sort();
      return {
        name, choices, log: false, low: 0, high: Math.max(1, choices.length - 1),
        of: (t) => (rows.get(t)?.[name] === undefined ? null : choices.indexOf(value(rows.get(t)![name]))),
        label: (v) => choices[Math.round(v)] ?? "",
      };
    }
    const low = Math.min(...(seen as number[]));
    const high = Math.max(...(seen as number[]));
    return {
      name, low, high, log: low > 0 && high / low >= 100,
      of: (t) => (rows.get(t)?.[name] as number | undefined) ?? null,
      label: (v) => value(v),
    };
  });
}

/** Where a value lies between the ends of its axis, 0 to 1. */
export function place(c: { low: number; high: number; log: boolean }, v: number): number {
  if (c.high === c.low) return 0.5;
  return c.log ? (Math.log(v) - Math.log(c.low)) / (Math.log(c.high) - Math.log(c.low)) : (v - c.low) / (c.high - c.low);
}
