// SPDX-License-Identifier: Apache-2.0
// The graph of a model as a picture: ops of one layer are one box, boxes stand below what they
// read. The same is there as a table, for those who do not see it.
import { useMemo, useState } from "preact/hooks";
import { t } from "./i18n";
import { number, plain } from "./format";
import { Table } from "./ui";

interface Op {
  op: string;
  layer: string;
  in: number[];
  out: number[];
  width: number;
  params: number;
}

export interface Graph {
  inputs: { id: number; name: string; width: number }[];
  ops: Op[];
  outputs: { name: string; id: number }[];
  losses: { name: string; id: number }[];
}

interface Box {
  key: string;
  kind: "input" | "layer" | "output" | "loss";
  title: string;
  note: string;
  params: number;
  from: Set<string>;
  level: number;
  x: number;
  y: number;
}

const WIDE = 190;
const HIGH = 46;
const GAP = 18;
const DROP = 44;
const MOST = 400; // boxes in one picture

/** A layer's name up to `deep` parts; without one it is a box by itself. */
function keyOf(o: Op, i: number, deep: number): string {
  const parts = o.layer.replace(/^model\./, "").split(".").filter(Boolean);
  if (!parts.length || o.layer === "model") return `op ${i}`;
  return parts.slice(0, deep).join(".");
}

export function boxesOf(g: Graph, deep: number): Box[] {
  const boxes = new Map<string, Box>();
  const maker = new Map<number, string>();
  const add = (key: string, kind: Box["kind"], title: string): Box => {
    const b = boxes.get(key) ?? { key, kind, title, note: "", params: 0, from: new Set<string>(), level: 0, x: 0, y: 0 };
    boxes.set(key, b);
    return b;
  };
  for (const v of g.inputs) {
    const b = add(`in ${v.id}`, "input", v.name || "input");
    b.note = number(v.width);
    maker.set(v.id, b.key);
  }
  const ops = new Map<string, string[]>();
  g.ops.forEach((o, i) => {
    let key = keyOf(o, i, deep);
    // a layer that is left and entered again would make a circle: it gets another box
    while (boxes.has(key) && o.in.some((v) => behind(boxes, maker.get(v), key))) key += "′";
    const b = add(key, "layer", key.startsWith("op ") ? o.op : key.replaceAll("′", ""));
    const list = ops.get(key) ?? [];
    list.push(o.op);
    ops.set(key, list);
    b.params += o.params;
    for (const v of o.in) {
      const from = maker.get(v);
      if (from && from !== key) b.from.add(from);
    }
    b.note = `${key.startsWith("op ") ? "" : `${[...new Set(list)].slice(0, 2).join(", ")}${list.length > 2 ? ` ×${list.length}` : ""} → `}${number(o.width)}`;
    for (const v of o.out) maker.set(v, key);
  });
  const ends: [Box["kind"], { name: string; id: number }[]][] = [["output", g.outputs], ["loss", g.losses]];
  for (const [kind, all] of ends)
    for (const o of all) {
      const from = maker.get(o.id);
      const b = add(`${kind} ${o.name}`, kind, o.name);
      if (from) b.from.add(from);
    }
  return place([...boxes.values()], boxes);
}

/** Whether `from` has read, through others, what `key` made, and is not it. */
function behind(boxes: Map<string, Box>, from: string | undefined, key: string): boolean {
  if (!from || from === key) return false;
  const open = [from];
  const seen = new Set<string>();
  while (open.length) {
    const k = open.pop()!;
    if (k === key) return true;
    if (seen.has(k)) continue;
    seen.add(k);
    for (const f of boxes.get(k)?.from ?? []) open.push(f);
  }
  return false;
}

function place(all: Box[], boxes: Map<string, Box>): Box[] {
  for (const b of all) for (const f of b.from) b.level = Math.max(b.level, (boxes.get(f)?.level ?? 0) + 1);
  for (const b of all) for (const f of b.from) b.level = Math.max(b.level, (boxes.get(f)?.level ?? 0) + 1);
  const rows: Box[][] = [];
  for (const b of all) (rows[b.level] ??= []).push(b);
  rows.forEach((row, y) => {
    const middle = (b: Box) => {
      const xs = [...b.from].map((f) => boxes.get(f)?.x ?? 0);
      return xs.length ? xs.reduce((s, x) => s + x, 0) / xs.length : 0;
    };
    if (y) row.sort((a, b) => middle(a) - middle(b));
    row.forEach((b, i) => {
      b.x = (i - (row.length - 1) / 2) * (WIDE + GAP);
      b.y = y * (HIGH + DROP);
    });
  });
  return all;
}

function cut(text: string): string {
  return text.length > 26 ? `…${text.slice(-25)}` : text;
}

export function GraphPicture({ graph }: { graph: Graph }) {
  const [deep, setDeep] = useState(2);
  const [asTable, setAsTable] = useState(false);
  const all = useMemo(() => {
    try {
      return boxesOf(graph, deep).slice(0, MOST);
    } catch {
      return []; // a file that is something else
    }
  }, [graph, deep]);
  if (!all.length) return <p class="dim">{t("train.noAbout")}</p>;
  const left = Math.min(...all.map((b) => b.x)) - WIDE / 2 - GAP;
  const right = Math.max(...all.map((b) => b.x)) + WIDE / 2 + GAP;
  const bottom = Math.max(...all.map((b) => b.y)) + HIGH + GAP;
  const at = new Map(all.map((b) => [b.key, b]));
  return (
    <section class="card">
      <div class="filters">
        <label>{t("train.detail")} <input type="range" min="1" max="6" step="1" value={deep} onInput={(e) => setDeep(Number(e.currentTarget.value))} /></label>
        <button type="button" class="small" onClick={() => setAsTable(!asTable)}>{asTable ? t("common.chart") : t("common.table")}</button>
        <span class="dim">{t("train.boxes", { n: all.length, m: graph.ops.length })}</span>
      </div>
      {asTable ? (
        <Table label={t("runs.model")} head={[t("common.name"), t("train.reads"), t("train.makes"), t("train.parameters")]}>
          {all.map((b) => <tr key={b.key}><td>{plain(b.title)}</td><td>{[...b.from].map((f) => plain(at.get(f)?.title ?? "")).join(", ")}</td><td>{plain(b.note)}</td><td class="num">{b.params ? number(b.params) : "–"}</td></tr>)}
        </Table>
      ) : (
        <div class="graph" role="region" aria-label={t("runs.model")} tabIndex={0}>
          <svg viewBox={`${left} ${-GAP} ${right - left} ${bottom + GAP}`} width={right - left} height={bottom + GAP} role="img" aria-label={t("train.picture", { n: all.length })}>
            {all.flatMap((b) => [...b.from].map((f) => {
              const a = at.get(f);
              if (!a) return null;
              const y1 = a.y + HIGH;
              const half = (b.y - y1) / 2;
              return <path key={`${f}>${b.key}`} class="edge" d={`M${a.x} ${y1}C${a.x} ${y1 + half} ${b.x} ${b.y - half} ${b.x} ${b.y}`} />;
            }))}
            {all.map((b) => (
              <g key={b.key} class={`box ${b.kind}`}>
                <title>{plain(`${b.title} ${b.note}${b.params ? `, ${number(b.params)} ${t("train.parameters")}` : ""}`)}</title>
                <rect x={b.x - WIDE / 2} y={b.y} width={WIDE} height={HIGH} rx="7" />
                <text x={b.x} y={b.y + 19}>{plain(cut(b.title))}</text>
                <text class="note" x={b.x} y={b.y + 36}>{plain(cut(`${b.note}${b.params ? ` · ${number(b.params)}` : ""}`))}</text>
              </g>
            ))}
          </svg>
        </div>
      )}
    </section>
  );
}
