// SPDX-License-Identifier: Apache-2.0
// Curves by uPlot: the smoothed line over the raw one, cursors of all charts together, zoom by
// dragging. Every chart has a sentence for screen readers, and a table.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { lang, t } from "./i18n";
import { bytes, number } from "./format";
import { theme } from "./theme";

export interface Curve {
  label: string;
  x: number[];
  y: (number | null)[];
  /** How many values there are, of which these are chosen. */
  total?: number;
}

export const COLOURS = ["#1f6feb", "#d1572c", "#2b8a3e", "#8b4fc4", "#b8860b", "#0b7f94", "#c2417b", "#5f6b7a"];
export function colourOf(i: number): string {
  return COLOURS[i % COLOURS.length]!;
}

/** An exponential mean without the pull of its first value. */
export function smooth(y: (number | null)[], weight: number): (number | null)[] {
  let mean = 0;
  let held = 0;
  return y.map((v) => {
    if (v === null) return null;
    mean = mean * weight + (1 - weight) * v;
    held = held * weight + (1 - weight);
    return mean / held;
  });
}

function aligned(curves: Curve[], weight: number): uPlot.AlignedData {
  const tables = curves.map((c) => {
    const columns: (number | null)[][] = [c.x, c.y];
    if (weight > 0) columns.push(smooth(c.y, weight));
    return columns as unknown as uPlot.AlignedData;
  });
  return uPlot.join(tables);
}

function seriesOf(curves: Curve[], weight: number, points: boolean): uPlot.Series[] {
  const out: uPlot.Series[] = [{}];
  curves.forEach((c, i) => {
    const stroke = colourOf(i);
    const line = { label: c.label, stroke, width: 1.6, spanGaps: true, points: { show: points } };
    out.push(weight > 0 ? { ...line, label: `${c.label} (raw)`, stroke: `${stroke}55`, width: 1 } : line);
    if (weight > 0) out.push(line);
  });
  return out;
}

export interface ChartLook {
  height?: number;
  weight?: number;
  log?: boolean;
  time?: boolean;
  sync?: string;
  points?: boolean;
}

function summary(name: string, c: Curve): string {
  const y = c.y.filter((v): v is number => v !== null);
  const min = y.reduce((a, b) => Math.min(a, b), Infinity);
  const max = y.reduce((a, b) => Math.max(a, b), -Infinity);
  return t("chart.summary", { name: `${name} ${c.label}`, n: c.total ?? y.length, first: number(y[0]), last: number(y.at(-1)), min: number(min), max: number(max) });
}

/** Times of an axis in the words of the language, as fine as its span needs. */
function moments(seconds: number[], span: number): string[] {
  const fine = { hour: "2-digit", minute: "2-digit", hour12: false } as const;
  const words: Intl.DateTimeFormatOptions = span > 2 * 86400 ? { month: "short", day: "numeric" } : span > 3600 ? fine : { ...fine, second: "2-digit" };
  return seconds.map((s) => new Date(s * 1000).toLocaleString(lang.value, words));
}

/** New values into a plot that is there; a part that somebody chose by dragging stays chosen. */
function refill(plot: uPlot, data: uPlot.AlignedData): void {
  const had = plot.data[0];
  const { min, max } = plot.scales.x!;
  const zoomed = had.length > 1 && min != null && max != null && (min > had[0]! || max < had.at(-1)!);
  plot.setData(data, !zoomed);
  if (zoomed) plot.setScale("x", { min, max });
}

export function Chart({ name, curves, look = {} }: { name: string; curves: Curve[]; look?: ChartLook }) {
  const box = useRef<HTMLDivElement>(null);
  const made = useRef<{ plot: uPlot; data: uPlot.AlignedData } | undefined>(undefined);
  const [asTable, setAsTable] = useState(false);
  const weight = look.weight ?? 0;
  const dark = theme.value;
  const data = useMemo(() => aligned(curves, weight), [curves, weight]);
  const lines = JSON.stringify([weight > 0, lang.value, curves.map((c) => c.label)]);
  useEffect(() => {
    if (!box.current || asTable) return;
    const at = box.current;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--dim").trim();
    const grid = { stroke: style.getPropertyValue("--line").trim(), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "11px system-ui, sans-serif" };
    const say = /bytes$/.test(name) ? bytes : number;
    const tell = (u: uPlot, key: string) => {
      if (key === "x") at.dataset.range = `${u.scales.x!.min} ${u.scales.x!.max}`;
    };
    const plot = new uPlot(
      {
        width: at.clientWidth || 400,
        height: look.height ?? 220,
        scales: { x: { time: look.time ?? false }, y: { distr: look.log ? 3 : 1 } },
        axes: [
          { ...axis, ...(look.time ? { values: (u: uPlot, v: number[]) => moments(v, u.scales.x!.max! - u.scales.x!.min!) } : {}) },
          { ...axis, size: 70, values: (_, v) => v.map((k) => (k === null ? "" : say(k))) },
        ],
        series: seriesOf(curves, weight, look.points ?? false),
        legend: { show: curves.length > 1, live: false },
        cursor: { ...(look.sync ? { sync: { key: look.sync } } : {}), drag: { x: true, y: false } },
        hooks: { setScale: [tell] },
      },
      data,
      at,
    );
    made.current = { plot, data };
    const watch = new ResizeObserver(() => plot.setSize({ width: at.clientWidth, height: look.height ?? 220 }));
    watch.observe(at);
    return () => {
      watch.disconnect();
      plot.destroy();
      made.current = undefined;
    };
  }, [lines, look.log, look.time, look.height, dark, asTable]);
  useEffect(() => {
    if (!made.current || made.current.data === data) return;
    made.current.data = data;
    refill(made.current.plot, data);
  }, [data]);
  const words = useMemo(() => curves.map((c) => summary(name, c)).join(". "), [curves, name, lang.value]);
  const shown = curves.reduce((n, c) => n + c.x.length, 0);
  const total = curves.reduce((n, c) => n + (c.total ?? c.x.length), 0);
  return (
    <figure class="chart">
      <figcaption>
        <strong>{name}</strong>
        {total > shown && <span class="dim"> {t("common.of", { n: shown, m: total })}</span>}
        <button type="button" class="small link" onClick={() => setAsTable(!asTable)}>{asTable ? t("common.chart") : t("common.table")}</button>
      </figcaption>
      <p class="sr">{words}</p>
      {asTable ? <Values curves={curves} name={name} /> : <div class="plot" ref={box} aria-hidden="true" />}
    </figure>
  );
}

function Values({ curves, name }: { curves: Curve[]; name: string }) {
  return (
    <div class="table short" role="region" aria-label={name} tabIndex={0}>
      <table>
        <tbody>
          {curves.flatMap((c) => c.x.slice(-200).map((x, i, all) => (
            <tr key={`${c.label}-${i}`}><td>{c.label}</td><td class="num">{number(x)}</td><td class="num">{number(c.y[c.x.length - all.length + i])}</td></tr>
          )))}
        </tbody>
      </table>
    </div>
  );
}
