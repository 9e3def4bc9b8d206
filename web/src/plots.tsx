// SPDX-License-Identifier: Apache-2.0
// Pictures that uPlot does not draw: parallel coordinates, points, bars. Canvas where there may
// be thousands of marks; all have words beside them.
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "./i18n";
import { number, plain } from "./format";
import { place, type Column, type Trial } from "./space";
import { theme } from "./theme";

interface Ink {
  text: string;
  line: string;
  good: [number, number, number];
  bad: [number, number, number];
}

function ink(): Ink {
  const s = getComputedStyle(document.documentElement);
  return {
    text: s.getPropertyValue("--ink").trim(),
    line: s.getPropertyValue("--line").trim(),
    good: [31, 111, 235],
    bad: [222, 122, 62],
  };
}

/** From the worst result to the best, 0 to 1. */
function shade(i: Ink, v: number, alpha: number): string {
  const c = i.good.map((g, k) => Math.round(i.bad[k]! + (g - i.bad[k]!) * v));
  return `rgba(${c.join(",")},${alpha})`;
}

function prepare(canvas: HTMLCanvasElement, height: number): CanvasRenderingContext2D | null {
  const width = canvas.parentElement?.clientWidth ?? 600;
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const g = canvas.getContext("2d");
  g?.scale(ratio, ratio);
  return g;
}

function short(text: string, most: number): string {
  const s = plain(text);
  return s.length > most ? `${s.slice(0, most - 1)}…` : s;
}

/** Room at the left for these labels. */
function margin(g: CanvasRenderingContext2D, labels: string[]): number {
  return Math.max(44, ...labels.map((l) => Math.ceil(g.measureText(l).width) + 4));
}

/** Labels below an axis of `width` pixels from `x` on: the ends, and of choices each that has room. */
function labelsBelow(g: CanvasRenderingContext2D, c: Column, x: number, width: number, y: number): void {
  const steps = c.choices && c.choices.length > 1 ? c.choices.length - 1 : 1;
  const most = Math.max(4, Math.floor(width / (steps + 1) / 6.5));
  let free = -Infinity;
  for (let i = 0; i <= steps; i++) {
    const text = short(c.label(c.low + ((c.high - c.low) * i) / steps), steps > 1 ? most : 16);
    const size = g.measureText(text).width;
    const at = i === 0 ? x : i === steps ? x + width - size : x + (i * width) / steps - size / 2;
    if (i < steps && i > 0 && (at < free || at + size > x + width - g.measureText(short(c.label(c.high), most)).width - 6)) continue;
    g.fillText(text, at, y);
    free = at + size + 6;
  }
}

const HEIGHT = 340;
const TOP = 34;
const BOTTOM = 26;
const SIDE = 60;

export interface Axis extends Column {
  result?: boolean;
}

interface Brush {
  from: number;
  to: number;
}

export function Parallel({ axes, trials, better, choose }: { axes: Axis[]; trials: Trial[]; better: (v: number) => number; choose: (t: Trial[]) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [brushes, setBrushes] = useState<Record<string, Brush>>({});
  const drag = useRef<{ axis: string; y: number } | null>(null);
  const dark = theme.value;
  const inside = (tr: Trial) => axes.every((a) => {
    const b = brushes[a.name];
    const v = a.of(tr);
    if (!b) return true;
    if (v === null) return false;
    const p = place(a, v);
    return p >= b.from && p <= b.to;
  });
  const span = HEIGHT - TOP - BOTTOM;
  const xOf = (i: number, width: number) => SIDE + (axes.length > 1 ? (i * (width - 2 * SIDE)) / (axes.length - 1) : 0);
  const yOf = (p: number) => TOP + (1 - p) * span;
  useEffect(() => choose(trials.filter(inside)), [brushes, trials]);
  useEffect(() => {
    const c = canvas.current;
    if (!c) return;
    const draw = () => {
      const g = prepare(c, HEIGHT);
      if (!g) return;
      const look = ink();
      const width = c.clientWidth;
      const order = trials.map((tr) => ({ tr, on: inside(tr), rank: better(tr.value ?? 0) }));
      order.sort((a, b) => Number(a.on) - Number(b.on) || a.rank - b.rank);
      const level = axes.map((a) => (v: number) => yOf(place(a, v)));
      for (const { tr, on, rank } of order) { // a path for each: one path of many lines takes twice as long
        g.strokeStyle = on ? shade(look, rank, trials.length > 300 ? 0.45 : 0.75) : look.line;
        g.lineWidth = !on ? 0.6 : trials.length > 300 ? 1 : 1.5; // without a graphics card lines of at most one pixel take half the time
        g.beginPath();
        let begun = false;
        axes.forEach((a, i) => {
          const v = a.of(tr);
          if (v === null) return;
          if (begun) g.lineTo(xOf(i, width), level[i]!(v));
          else g.moveTo(xOf(i, width), level[i]!(v));
          begun = true;
        });
        g.stroke();
      }
      g.font = "12px system-ui, sans-serif";
      g.textAlign = "center";
      axes.forEach((a, i) => {
        const x = xOf(i, width);
        g.strokeStyle = look.text;
        g.lineWidth = 1;
        g.beginPath();
        g.moveTo(x, TOP);
        g.lineTo(x, HEIGHT - BOTTOM);
        g.stroke();
        g.fillStyle = look.text;
        g.fillText(short(a.name, 18), x, 12);
        g.fillText(short(a.label(a.high), 12), x, 28);
        g.fillText(short(a.label(a.low), 12), x, HEIGHT - 8);
        const b = brushes[a.name];
        if (b) {
          g.fillStyle = "rgba(31,111,235,0.25)";
          g.fillRect(x - 8, yOf(b.to), 16, (b.to - b.from) * span);
        }
      });
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(c.parentElement!);
    return () => watch.disconnect();
  }, [axes, trials, brushes, dark]);
  const axisAt = (e: PointerEvent) => {
    const c = canvas.current!;
    const width = c.clientWidth;
    let best = 0;
    axes.forEach((_, i) => {
      if (Math.abs(xOf(i, width) - e.offsetX) < Math.abs(xOf(best, width) - e.offsetX)) best = i;
    });
    return Math.abs(xOf(best, width) - e.offsetX) < 30 ? axes[best] : undefined;
  };
  const level = (e: PointerEvent) => Math.max(0, Math.min(1, 1 - (e.offsetY - TOP) / span));
  const down = (e: PointerEvent) => {
    const a = axisAt(e);
    if (!a) return;
    drag.current = { axis: a.name, y: level(e) };
    canvas.current!.setPointerCapture(e.pointerId);
  };
  const move = (e: PointerEvent) => {
    const d = drag.current;
    if (!d) return;
    const y = level(e);
    if (Math.abs(y - d.y) > 0.01) setBrushes({ ...brushes, [d.axis]: { from: Math.min(y, d.y), to: Math.max(y, d.y) } });
  };
  const up = (e: PointerEvent) => {
    const d = drag.current;
    drag.current = null;
    if (d && Math.abs(level(e) - d.y) <= 0.01) {
      const { [d.axis]: _gone, ...rest } = brushes;
      setBrushes(rest);
    }
  };
  const key = (name: string, end: "from" | "to", v: number) => {
    const b = brushes[name] ?? { from: 0, to: 1 };
    setBrushes({ ...brushes, [name]: { ...b, [end]: v } });
  };
  return (
    <figure class="chart">
      <p class="dim">{t("exp.brushHint")}</p>
      <div><canvas ref={canvas} role="img" aria-label={t("exp.parallel")} onPointerDown={down} onPointerMove={move} onPointerUp={up} /></div>
      <details>
        <summary>{t("common.parameters")}</summary>
        <div class="grid">
          {axes.map((a) => (
            <fieldset key={a.name}>
              <legend>{plain(a.name)}</legend>
              <input type="range" min="0" max="1" step="0.01" aria-label={`${a.name} ≥`} value={brushes[a.name]?.from ?? 0} onInput={(e) => key(a.name, "from", Number(e.currentTarget.value))} />
              <input type="range" min="0" max="1" step="0.01" aria-label={`${a.name} ≤`} value={brushes[a.name]?.to ?? 1} onInput={(e) => key(a.name, "to", Number(e.currentTarget.value))} />
            </fieldset>
          ))}
        </div>
      </details>
    </figure>
  );
}

/** One parameter against the result. */
export function Slice({ column, trials, better, height = 180 }: { column: Column; trials: Trial[]; better: (v: number, trial: Trial) => number; height?: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = theme.value;
  const values = trials.map((x) => x.value!);
  const y = { low: Math.min(...values), high: Math.max(...values), log: false };
  useEffect(() => {
    const c = canvas.current;
    if (!c) return;
    const draw = () => {
      const g = prepare(c, height);
      if (!g) return;
      const look = ink();
      const width = c.clientWidth;
      g.font = "11px system-ui, sans-serif";
      const left = margin(g, [number(y.high), number(y.low)]);
      g.strokeStyle = look.line;
      g.strokeRect(left + 4.5, 6.5, width - left - 16, height - 34);
      g.fillStyle = look.text;
      g.textAlign = "right";
      g.fillText(number(y.high), left, 16);
      g.fillText(number(y.low), left, height - 28);
      g.textAlign = "left";
      labelsBelow(g, column, left + 10, width - left - 28, height - 10);
      for (const tr of trials) {
        const v = column.of(tr);
        if (v === null) continue;
        g.fillStyle = shade(look, better(tr.value!, tr), 0.75);
        g.beginPath();
        g.arc(left + 10 + place(column, v) * (width - left - 28), height - 34 - place(y, tr.value!) * (height - 46), 3, 0, 7);
        g.fill();
      }
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(c.parentElement!);
    return () => watch.disconnect();
  }, [column, trials, dark, height]);
  return (
    <figure class="chart">
      <figcaption><strong>{plain(column.name)}</strong></figcaption>
      <div><canvas ref={canvas} role="img" aria-label={`${column.name}: ${t("exp.slices")}`} /></div>
    </figure>
  );
}

/** Two parameters at once: the colour between trials is the mean of those around, the nearer the more. */
export function Contour({ columns, trials, better }: { columns: Column[]; trials: Trial[]; better: (v: number, tr: Trial) => number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [first, setFirst] = useState(columns[0]?.name ?? "");
  const [second, setSecond] = useState(columns[1]?.name ?? "");
  const a = columns.find((c) => c.name === first) ?? columns[0];
  const b = columns.find((c) => c.name === second) ?? columns[1];
  const dark = theme.value;
  const height = 420;
  useEffect(() => {
    const c = canvas.current;
    if (!c || !a || !b) return;
    const points = trials.flatMap((tr) => {
      const x = a.of(tr);
      const y = b.of(tr);
      return x === null || y === null ? [] : [{ x: place(a, x), y: place(b, y), q: better(tr.value!, tr) }];
    });
    const draw = () => {
      const g = prepare(c, height);
      if (!g) return;
      const look = ink();
      g.font = "11px system-ui, sans-serif";
      const left = margin(g, [short(b.label(b.high), 16), short(b.label(b.low), 16)]) + 10;
      const [w, h] = [c.clientWidth - left - 18, height - 46];
      const cell = 10;
      for (let px = 0; px < w; px += cell)
        for (let py = 0; py < h; py += cell) {
          let sum = 0;
          let weight = 0;
          for (const p of points) {
            const d = ((px + cell / 2) / w - p.x) ** 2 + (1 - (py + cell / 2) / h - p.y) ** 2 + 1e-4;
            const k = 1 / (d * d);
            sum += k * p.q;
            weight += k;
          }
          // eight levels, so that one sees lines of the same result
          if (weight) g.fillStyle = shade(look, Math.round((sum / weight) * 8) / 8, 0.55);
          g.fillRect(left + px, 12 + py, Math.min(cell, w - px), Math.min(cell, h - py));
        }
      g.fillStyle = look.text;
      for (const p of points) {
        g.beginPath();
        g.arc(left + p.x * w, 12 + (1 - p.y) * h, 2.5, 0, 7);
        g.fill();
      }
      g.textAlign = "right";
      g.fillText(short(b.label(b.high), 16), left - 4, 20);
      g.fillText(short(b.label(b.low), 16), left - 4, height - 34);
      g.textAlign = "left";
      labelsBelow(g, a, left, w, height - 14);
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(c.parentElement!);
    return () => watch.disconnect();
  }, [a, b, trials, dark]);
  if (!a || !b) return <p class="dim">{t("exp.contourTwo")}</p>;
  const pick = (label: string, now: string, set: (v: string) => void) => (
    <label>{label} <select value={now} onChange={(e) => set(e.currentTarget.value)}>{columns.map((c) => <option key={c.name} value={c.name}>{plain(c.name)}</option>)}</select></label>
  );
  return (
    <figure class="chart">
      <figcaption class="filters">{pick(t("exp.contourX"), a.name, setFirst)} {pick(t("exp.contourY"), b.name, setSecond)} <span class="dim">{t("exp.contourHint")}</span></figcaption>
      <div><canvas ref={canvas} role="img" aria-label={`${a.name}, ${b.name}: ${t("exp.contour")}`} /></div>
    </figure>
  );
}

export function Bars({ rows, label }: { rows: { name: string; value: number; text: string }[]; label: string }) {
  const most = Math.max(...rows.map((r) => r.value), 1e-12);
  return (
    <table class="bars" aria-label={label}>
      <tbody>
        {rows.map((r) => (
          <tr key={r.name}>
            <th scope="row">{plain(r.name)}</th>
            <td><div class="bar" style={{ width: `${Math.max(0.5, (100 * r.value) / most)}%` }} /></td>
            <td class="num">{r.text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
