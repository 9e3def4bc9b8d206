// SPDX-License-Identifier: Apache-2.0
// Training runs: curves of jobs that report metrics and of runs in directories, beside each other. The server thins
// them out, keeping every peak.
import { useMemo, useState } from "preact/hooks";
import { get, pathOf, query } from "./api";
import { t } from "./i18n";
import { useLive } from "./live";
import { href, route, setQuery } from "./router";
import { ms, plain, value } from "./format";
import { Ago, Lasted, Empty, Failure, Loading, Page, State, Table } from "./ui";
import { Chart, type Curve } from "./chart";
import { ENDED, TRIAL, Trials, withTrials, type Job } from "./jobs";
import type { Training } from "./training";
import type { JobDetail } from "./job";

interface Series {
  name: string;
  worker: number;
  total: number;
  steps: number[];
  times: number[];
  values: number[];
}

interface RunData {
  from: Source;
  more: boolean;
  series: Series[];
}

const EVERY = 3000;
const POINTS = 1000;
const MOST = 50; // runs beside each other

/** Steps that go back (a resumed attempt) would make a line run backwards: later ones count. */
function forward(x: number[], y: number[]): [number[], number[]] {
  const at = new Map<number, number>();
  x.forEach((v, i) => at.set(v, y[i]!));
  const keys = [...at.keys()].sort((a, b) => a - b);
  return [keys, keys.map((k) => at.get(k)!)];
}

function curveOf(run: RunData, s: Series, byTime: boolean, many: boolean): Curve {
  const steps = s.steps.every((v) => v >= 0);
  const raw = byTime || !steps ? s.times.map((v) => v / 1000) : s.steps;
  const [x, y] = forward(raw, s.values);
  const who = many ? plain(run.from.name || run.from.id) : "";
  const label = [who, s.worker > 0 ? `#${s.worker}` : ""].filter(Boolean).join(" ") || plain(s.name);
  return { label, x, y, total: s.total };
}

interface Panel {
  name: string;
  curves: Curve[];
  time: boolean;
}

function panelsOf(runs: RunData[], byTime: boolean): Panel[] {
  const names = new Map<string, Panel>();
  for (const run of runs)
    for (const s of run.series) {
      const time = byTime || s.steps.some((v) => v < 0);
      const p = names.get(s.name) ?? { name: s.name, curves: [], time };
      p.curves.push(curveOf(run, s, byTime, runs.length > 1));
      names.set(s.name, p);
    }
  const system = (n: string) => (n.startsWith("sys/") ? 1 : 0);
  return [...names.values()].sort((a, b) => system(a.name) - system(b.name) || a.name.localeCompare(b.name));
}

/** What has curves: a job, or a run of a directory. */
export interface Source {
  id: string;
  name: string;
  live: boolean;
}

export function isJob(id: string): boolean {
  return id.startsWith("jb-");
}

export function MetricsOf({ of }: { of: Source[] }) {
  const [weight, setWeight] = useState(0);
  const [log, setLog] = useState(false);
  const [byTime, setByTime] = useState(false);
  const running = of.some((s) => s.live);
  const ids = of.map((s) => s.id).join(",");
  const [text, setText] = useState("");
  const [name, setName] = useState(""); // of one metric that the server is asked for
  const live = useLive<RunData[]>(
    (stop) => Promise.all(of.map(async (from) => ({ from, ...(await get<{ series: Series[]; more: boolean }>(pathOf`/${isJob(from.id) ? "jobs" : "training"}/${from.id}/series` + query({ points: POINTS, name }), stop)) }))),
    [ids, running, name], running ? EVERY : 0);
  const all = useMemo(() => panelsOf(live.data ?? [], byTime), [live.data, byTime]);
  const panels = useMemo(() => all.filter((p) => name || p.name.toLowerCase().includes(text.toLowerCase())), [all, text, name]);
  const more = live.data?.some((r) => r.more) ?? false;
  if (!live.data) return live.error ? <Failure error={live.error} /> : <Loading />;
  if (!all.length && !name) return <Empty title={t("job.noMetrics")} hint={t("job.noMetricsHint")} command="::trainyard step=900 loss=0.31 auc=0.71" />;
  return (
    <>
      <Failure error={live.error} />
      <div class="filters">
        <input type="search" aria-label={t("runs.byMetric")} placeholder={t("runs.byMetric")} value={text} onInput={(e) => { setText(e.currentTarget.value); setName(""); }}
          onKeyDown={(e) => e.key === "Enter" && more && setName(text)} />
        <label>{t("runs.smooth")} <input type="range" min="0" max="0.99" step="0.01" value={weight} onInput={(e) => setWeight(Number(e.currentTarget.value))} /> <output>{weight.toFixed(2)}</output></label>
        <label class="check"><input type="checkbox" checked={log} onChange={(e) => setLog(e.currentTarget.checked)} /> {t("runs.log")}</label>
        <label>{t("runs.axis")} <select value={byTime ? "time" : "step"} onChange={(e) => setByTime(e.currentTarget.value === "time")}>
          <option value="step">{t("runs.step")}</option><option value="time">{t("runs.time")}</option>
        </select></label>
        <span class="dim">{t("runs.reset")}</span>
      </div>
      {more && <p>{t("runs.moreMetrics", { n: all.length })}</p>}
      {!panels.length && <p class="dim">{t("runs.noMetric")}</p>}
      <div class="charts">
        {panels.map((p) => <Chart key={p.name} name={plain(p.name)} curves={p.curves} look={{ weight, log: log && p.curves.every((c) => c.y.every((v) => v === null || v > 0)), time: p.time, sync: p.time ? "time" : "step" }} />)}
      </div>
    </>
  );
}

/** A config in the text format of protobuf as paths and values; lists have numbers. */
export function flatConfig(text: string, out = new Map<string, string>()): Map<string, string> {
  const words = text.match(/#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}<>:;,[\]]|[^\s{}<>:;,[\]"']+/g) ?? [];
  const path: string[] = [];
  const seen = new Map<string, number>();
  let name = "";
  let listed = false;
  const put = (v: string) => {
    const key = [...path, name].join(".");
    out.set(key, out.has(key) ? `${out.get(key)}, ${v}` : v);
  };
  for (const w of words) {
    if (w.startsWith("#") || w === ":" || w === ";" || w === ",") continue;
    if (w === "{" || w === "<") {
      const key = [...path, name].join(".");
      const n = seen.get(key) ?? 0;
      seen.set(key, n + 1);
      path.push(n ? `${name}[${n}]` : name);
      name = "";
    } else if (w === "}" || w === ">") {
      path.pop();
      name = "";
    } else if (w === "[") listed = true;
    else if (w === "]") {
      listed = false;
      name = "";
    } else if (!name) name = w;
    else {
      put(w);
      if (!listed) name = "";
    }
  }
  return out;
}

function flat(v: unknown, at = "", out = new Map<string, string>()): Map<string, string> {
  if (v && typeof v === "object" && !Array.isArray(v)) for (const [k, x] of Object.entries(v)) flat(x, at ? `${at}.${k}` : k, out);
  else out.set(at, value(v));
  return out;
}

/** Every setting that is not the same in all. */
function differences(all: Map<string, string>[]): [string, string[]][] {
  const keys = [...new Set(all.flatMap((m) => [...m.keys()]))].sort();
  return keys.map((k): [string, string[]] => [k, all.map((m) => m.get(k) ?? "–")]).filter(([, v]) => v.some((x) => x !== v[0]));
}

interface Compared extends Source {
  settings: Map<string, string>;
}

async function compared(id: string, stop: AbortSignal): Promise<Compared> {
  if (!isJob(id)) {
    const run = await get<Training>(pathOf`/training/${id}`, stop);
    return { id, name: run.name, live: run.state === "Running", settings: flatConfig(run.config ?? "") };
  }
  const job = await get<JobDetail>(pathOf`/jobs/${id}`, stop);
  const run = await get<Training>(pathOf`/jobs/${id}/training`, stop).catch(() => undefined);
  return { id, name: job.name, live: !ENDED.includes(job.state), settings: new Map([...flat(job.spec), ...flatConfig(run?.config ?? "")]) };
}

function sourceLink(s: Source) {
  return <a href={href([isJob(s.id) ? "jobs" : "runs", s.id])}>{plain(s.name) || s.id}</a>;
}

function Compare({ ids }: { ids: string[] }) {
  const live = useLive<Compared[]>((stop) => Promise.all(ids.map((id) => compared(id, stop))), [ids.join(",")], 0);
  if (live.error) return <Failure error={live.error} />;
  if (!live.data) return <Loading />;
  const rows = differences(live.data.map((c) => c.settings));
  return (
    <>
      <MetricsOf of={live.data} />
      {ids.length > 1 && (
        <section class="card">
          <h2>{t("runs.diff")}</h2>
          {rows.length === 0 && <p class="dim">{t("runs.same")}</p>}
          {rows.length > 0 && (
            <Table label={t("runs.diff")} head={["", ...live.data.map((j) => sourceLink(j))]}>
              {rows.map(([k, v]) => <tr key={k}><th scope="row">{plain(k)}</th>{v.map((x, i) => <td class="mono" key={i}>{plain(x)}</td>)}</tr>)}
            </Table>
          )}
        </section>
      )}
    </>
  );
}

interface Line {
  id: string;
  name: string;
  root: string;
  model: string;
  state: string;
  changed?: string;
}

export function Runs() {
  const chosen = [...new Set((route.value.query.get("jobs") ?? "").split(",").filter(Boolean))].slice(0, MOST);
  const trials = withTrials(false);
  const list = useLive<{ jobs: Job[] }>((stop) => get(`/jobs${query({ limit: 100, without_label: trials ? undefined : TRIAL })}`, stop), [trials], EVERY, "jobs");
  const dirs = useLive<{ runs: Line[]; more: boolean; shown: boolean }>((stop) => get("/training", stop), [], EVERY, "runs");
  const toggle = (id: string, on: boolean) => setQuery({ jobs: (on ? [...chosen, id] : chosen.filter((x) => x !== id)).join(",") || undefined });
  const jobs = (list.data?.jobs ?? []).filter((j) => j.started);
  const runs = dirs.data?.runs ?? [];
  const box = (id: string, name: string) => (
    <td><input type="checkbox" aria-label={t("runs.choose", { name: plain(name) || id })} checked={chosen.includes(id)} onChange={(e) => toggle(id, e.currentTarget.checked)} /></td>
  );
  const none = list.data && dirs.data && !jobs.length && !runs.length;
  return (
    <Page title={t("runs.title")} sub={t("runs.hint")}>
      <Failure error={list.error ?? dirs.error} />
      {(!list.data || !dirs.data) && !list.error && !dirs.error && <Loading />}
      {none && <Empty title={t("runs.empty")} hint={t("runs.emptyHint")} command={dirs.data?.shown ? "trainyard train pipeline.config" : "trainyard ui DIR"} />}
      <div class={chosen.length ? "chooser" : ""}>
      {runs.length > 0 && (
        <section class="card">
          <h2>{t("runs.dirs")}</h2>
          <Table label={t("runs.dirs")} head={[t("runs.compare"), t("common.name"), t("runs.model"), t("common.state"), t("runs.changed")]}>
            {runs.map((r) => (
              <tr key={r.id}>
                {box(r.id, r.name)}
                <td><a href={href(["runs", r.id])}>{plain(r.name === "." ? r.root : r.name)}</a><div class="dim mono">{plain(r.root)}</div></td>
                <td>{plain(r.model) || "–"}</td>
                <td>{r.state ? <State of={r.state} /> : "–"}</td>
                <td class="num"><Ago at={ms(r.changed)} /></td>
              </tr>
            ))}
          </Table>
          {dirs.data?.more && <p class="dim">{t("runs.more")}</p>}
        </section>
      )}
      {(jobs.length > 0 || trials) && (
        <section class="card">
          <h2>{t("jobs.title")}</h2>
          <div class="filters"><Trials usual={false} /></div>
          <Table label={t("jobs.title")} head={[t("runs.compare"), t("common.name"), t("common.state"), t("common.owner"), t("common.duration"), t("common.created")]}>
            {jobs.map((j) => (
              <tr key={j.id}>
                {box(j.id, j.name)}
                <td><a href={href(["jobs", j.id], { tab: "metrics" })}>{plain(j.name) || j.id}</a></td>
                <td><State of={j.state} /></td>
                <td>{plain(j.owner)}</td>
                <td class="num"><Lasted from={ms(j.started)} to={ms(j.finished)} /></td>
                <td class="num"><Ago at={ms(j.created)} /></td>
              </tr>
            ))}
          </Table>
        </section>
      )}
      </div>
      {chosen.length > 0 && <Compare ids={chosen} />}
    </Page>
  );
}
