// SPDX-License-Identifier: Apache-2.0
// Training runs: curves of the jobs that report metrics, beside each other. The server thins
// them out, keeping every peak.
import { useMemo, useState } from "preact/hooks";
import { get, query } from "./api";
import { t } from "./i18n";
import { useLive } from "./live";
import { href, route, setQuery } from "./router";
import { duration, ms, plain, value } from "./format";
import { Ago, Empty, Failure, Loading, Page, State, Table } from "./ui";
import { Chart, type Curve } from "./chart";
import { ENDED, jobLink, lasted, type Job } from "./jobs";
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
  job: Job;
  series: Series[];
}

const EVERY = 3000;
const POINTS = 1000;

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
  const who = many ? plain(run.job.name || run.job.id) : "";
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

export function MetricsOf({ jobs }: { jobs: Job[] }) {
  const [weight, setWeight] = useState(0);
  const [log, setLog] = useState(false);
  const [byTime, setByTime] = useState(false);
  const running = jobs.some((j) => !ENDED.includes(j.state));
  const ids = jobs.map((j) => j.id).join(",");
  const live = useLive<RunData[]>(
    (stop) => Promise.all(jobs.map(async (job) => ({ job, series: (await get<{ series: Series[] }>(`/jobs/${job.id}/series${query({ points: POINTS })}`, stop)).series }))),
    [ids, running], running ? EVERY : 0);
  const panels = useMemo(() => panelsOf(live.data ?? [], byTime), [live.data, byTime]);
  if (live.error) return <Failure error={live.error} />;
  if (!live.data) return <Loading />;
  if (!panels.length) return <Empty title={t("job.noMetrics")} hint={t("job.noMetricsHint")} command="::trainyard step=900 loss=0.31 auc=0.71" />;
  return (
    <>
      <div class="filters">
        <label>{t("runs.smooth")} <input type="range" min="0" max="0.99" step="0.01" value={weight} onInput={(e) => setWeight(Number(e.currentTarget.value))} /> <output>{weight.toFixed(2)}</output></label>
        <label class="check"><input type="checkbox" checked={log} onChange={(e) => setLog(e.currentTarget.checked)} /> {t("runs.log")}</label>
        <label>{t("runs.axis")} <select value={byTime ? "time" : "step"} onChange={(e) => setByTime(e.currentTarget.value === "time")}>
          <option value="step">{t("runs.step")}</option><option value="time">{t("runs.time")}</option>
        </select></label>
        <span class="dim">{t("runs.reset")}</span>
      </div>
      <div class="charts">
        {panels.map((p) => <Chart key={p.name} name={plain(p.name)} curves={p.curves} look={{ weight, log: log && p.curves.every((c) => c.y.every((v) => v === null || v > 0)), time: p.time, sync: p.time ? "time" : "step" }} />)}
      </div>
    </>
  );
}

/** Every setting of the specifications that is not the same in all. */
function differences(jobs: JobDetail[]): [string, string[]][] {
  const flat = (v: unknown, at: string, out: Map<string, string>) => {
    if (v && typeof v === "object" && !Array.isArray(v)) for (const [k, x] of Object.entries(v)) flat(x, at ? `${at}.${k}` : k, out);
    else out.set(at, value(v));
    return out;
  };
  const all = jobs.map((j) => flat(j.spec, "", new Map()));
  const keys = [...new Set(all.flatMap((m) => [...m.keys()]))].sort();
  return keys.map((k): [string, string[]] => [k, all.map((m) => m.get(k) ?? "–")]).filter(([, v]) => v.some((x) => x !== v[0]));
}

function Compare({ ids }: { ids: string[] }) {
  const live = useLive<JobDetail[]>((stop) => Promise.all(ids.map((id) => get<JobDetail>(`/jobs/${id}`, stop))), [ids.join(",")], 0);
  if (live.error) return <Failure error={live.error} />;
  if (!live.data) return <Loading />;
  const rows = differences(live.data);
  return (
    <>
      <MetricsOf jobs={live.data} />
      {ids.length > 1 && (
        <section class="card">
          <h2>{t("runs.diff")}</h2>
          {rows.length === 0 && <p class="dim">{t("runs.same")}</p>}
          {rows.length > 0 && (
            <Table label={t("runs.diff")} head={["", ...live.data.map((j) => jobLink(j))]}>
              {rows.map(([k, v]) => <tr key={k}><th scope="row">{plain(k)}</th>{v.map((x, i) => <td class="mono" key={i}>{plain(x)}</td>)}</tr>)}
            </Table>
          )}
        </section>
      )}
    </>
  );
}

export function Runs() {
  const chosen = (route.value.query.get("jobs") ?? "").split(",").filter(Boolean);
  const list = useLive<{ jobs: Job[] }>((stop) => get(`/jobs${query({ limit: 100 })}`, stop), [], EVERY);
  const toggle = (id: string, on: boolean) => setQuery({ jobs: (on ? [...chosen, id] : chosen.filter((x) => x !== id)).join(",") || undefined });
  const jobs = (list.data?.jobs ?? []).filter((j) => j.started);
  return (
    <Page title={t("runs.title")} sub={t("runs.hint")}>
      <Failure error={list.error} />
      {!list.data && !list.error && <Loading />}
      {list.data && !jobs.length && <Empty title={t("runs.empty")} hint={t("job.noMetricsHint")} command="::trainyard step=900 loss=0.31 auc=0.71" />}
      {chosen.length > 0 && <Compare ids={chosen} />}
      {jobs.length > 0 && (
        <Table label={t("runs.title")} head={[t("runs.compare"), t("common.name"), t("common.state"), t("common.owner"), t("common.duration"), t("common.created")]}>
          {jobs.map((j) => (
            <tr key={j.id}>
              <td><input type="checkbox" aria-label={t("runs.choose", { name: plain(j.name) || j.id })} checked={chosen.includes(j.id)} onChange={(e) => toggle(j.id, e.currentTarget.checked)} /></td>
              <td><a href={href(["jobs", j.id], { tab: "metrics" })}>{plain(j.name) || j.id}</a></td>
              <td><State of={j.state} /></td>
              <td>{plain(j.owner)}</td>
              <td class="num">{duration(lasted(j))}</td>
              <td class="num"><Ago at={ms(j.created)} /></td>
            </tr>
          ))}
        </Table>
      )}
    </Page>
  );
}
