// SPDX-License-Identifier: Apache-2.0
// Experiments: which there are, and one of them by NNI's views: the best trials, the table, the
// history, parallel coordinates, slices, importance, intermediate results, durations.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, mine, pathOf, query, request, send } from "./api";
import { pieces } from "./ansi";
import { t } from "./i18n";
import { useLive } from "./live";
import { go, href, route } from "./router";
import { csvCell, duration, number, plain, value } from "./format";
import { Ago, Command, Empty, Facts, Failure, Field, Loading, Page, State, Table, Tabs, saveFile, sure, useAction } from "./ui";
import { Chart, type Curve } from "./chart";
import { importance, TREES, type Importance } from "./forest";
import { Bars, Parallel, Slice, Contour, type Axis } from "./plots";
import { columnsOf, flatten, type Column, type Trial } from "./space";

interface Experiment {
  id: string;
  name: string;
  owner: string;
  project: string;
  status: string;
  managed: boolean;
  trials: Record<string, number>;
  best: { trial?: number; value?: number; front?: { trial: number; value?: number | null; values?: Record<string, number> }[] } | null;
  concurrency: number;
  max_trials: number;
  max_seconds: number;
  seconds: number;
  created: number;
  tuner: string;
  error: string;
  maximize: boolean;
  dir: string;
  held?: string;
}

const EVERY = 3000;
const PAGE = 1000;
const MOST = 10000; // trials that the page looks at
const LIVE = ["RUNNING", "INITIALIZED", "NO_MORE_TRIAL", "TUNER_NO_MORE_TRIAL", "STOPPING"];
const ENOUGH = 5; // results for an importance

function total(e: Experiment): number {
  return Object.values(e.trials).reduce((a, b) => a + b, 0);
}

/** The best result; with several objectives how many trials nothing beats, and the best of the first objective. */
function bestOf(e: Experiment) {
  const front = e.best?.front;
  if (!front) return number(e.best?.value);
  const first = Object.keys(front[0]?.values ?? {})[0];
  const values = front.map((f) => (first ? f.values?.[first] : f.value)).filter((v): v is number => typeof v === "number");
  return (
    <>
      {values.length > 0 && <>{first && `${plain(first)} `}{number(e.maximize ? Math.max(...values) : Math.min(...values))}</>}
      <div><a href={href(["experiments", e.id], { tab: "pareto" })}>{t("exp.inFront", { n: front.length })}</a></div>
    </>
  );
}

export function Experiments() {
  const list = useLive<{ experiments: Experiment[] }>((stop) => get("/experiments?limit=1000", stop), [], EVERY, "experiments");
  const all = list.data?.experiments ?? [];
  return (
    <Page title={t("exp.title")}>
      <Failure error={list.error} />
      {!list.data && !list.error && <Loading />}
      {list.data && !all.length && <Empty title={t("exp.empty")} hint={t("exp.emptyHint")} command="trainyard tune create --config config.yml" />}
      {all.length > 0 && (
        <Table label={t("exp.title")} head={[t("common.name"), t("common.state"), t("exp.trials"), t("exp.best"), t("exp.tuner"), t("common.owner"), t("common.created")]}>
          {all.map((e) => (
            <tr key={e.id}>
              <td><a href={href(["experiments", e.id])}>{plain(e.name) || e.id}</a><div class="dim mono">{e.id}</div></td>
              <td><State of={e.status} /></td>
              <td class="num">{total(e)}{e.max_trials > 0 && <span class="dim"> / {e.max_trials}</span>}</td>
              <td class="num">{bestOf(e)}</td>
              <td>{plain(e.tuner)}</td>
              <td>{plain(e.owner)}</td>
              <td class="num"><Ago at={e.created} /></td>
            </tr>
          ))}
        </Table>
      )}
    </Page>
  );
}

async function allTrials(id: string, stop: AbortSignal): Promise<Trial[]> {
  const out: Trial[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined && out.length < MOST) {
    const page: { trials: Trial[]; next?: number } = await get(pathOf`/experiments/${id}/trials` + query({ offset, limit: PAGE }), stop);
    out.push(...page.trials);
    offset = page.next;
  }
  return out;
}

function lasted(x: Trial): number {
  return x.started ? (x.ended || Date.now()) - x.started : 0;
}

interface Study {
  trials: Trial[];
  done: Trial[];
  least: boolean;
  /** The place of a result between the worst and the best, 0 to 1. */
  better: (v: number) => number;
}

function studyOf(trials: Trial[], least: boolean): Study {
  const done = trials.filter((x) => x.value !== null);
  const values = done.map((x) => x.value!);
  const low = Math.min(...values);
  const high = Math.max(...values);
  return { trials, done, least, better: (v) => (high === low ? 1 : least ? (high - v) / (high - low) : (v - low) / (high - low)) };
}

function Limits({ e, changed }: { e: Experiment; changed: () => void }) {
  const [form, setForm] = useState({ concurrency: e.concurrency, max_trials: e.max_trials, max_seconds: e.max_seconds });
  const [saved, setSaved] = useState(false);
  const { error, busy, act } = useAction();
  const submit = (ev: Event) => {
    ev.preventDefault();
    void act(async () => {
      await send("POST", pathOf`/experiments/${e.id}/update`, form);
      setSaved(true);
      changed();
    });
  };
  const input = (k: keyof typeof form) => (
    <input type="number" min={k === "concurrency" ? 1 : 0} value={form[k]} disabled={!mine(e)}
      onInput={(ev) => { setSaved(false); setForm({ ...form, [k]: Number(ev.currentTarget.value) }); }} />
  );
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t("exp.limits")}</h2>
      <Field label={t("exp.concurrency")}>{input("concurrency")}</Field>
      <Field label={t("exp.maxTrials")} hint={t("exp.unlimited")}>{input("max_trials")}</Field>
      <Field label={t("exp.maxTime")} hint={t("exp.unlimited")}>{input("max_seconds")}</Field>
      <Failure error={error} />
      {mine(e) && <button disabled={busy}>{t("common.save")}</button>} {saved && <span role="status">{t("exp.saved")}</span>}
    </form>
  );
}

/** JSON with a line for every parameter. */
function oneLineEach(space: unknown): string {
  const rows = Object.entries(space as Record<string, unknown>).map(([k, v]) => `  ${JSON.stringify(k)}: ${JSON.stringify(v)}`);
  return `{\n${rows.join(",\n")}\n}`;
}

/** Another search space, as in an NNI file; what was tried stays. */
function Space({ e }: { e: Experiment }) {
  const path = pathOf`/experiments/${e.id}`;
  const settings = useLive<{ space?: unknown }>((stop) => get(`${path}/settings`, stop), [e.id], 0);
  const [text, setText] = useState<string>();
  const [wrong, setWrong] = useState("");
  const [saved, setSaved] = useState(false);
  const { error, busy, act } = useAction();
  if (!settings.data?.space) return null;
  const shown = text ?? oneLineEach(settings.data.space);
  const submit = (ev: Event) => {
    ev.preventDefault();
    let space: unknown;
    try {
      space = JSON.parse(shown);
      setWrong("");
    } catch (x) {
      setWrong(t("common.noJson", { why: String(x) }));
      return;
    }
    void act(async () => {
      await send("POST", `${path}/update`, { space });
      setSaved(true);
    });
  };
  return (
    <form class="card" onSubmit={submit}>
      <Field label={t("exp.space")} hint={t("exp.spaceHint")} {...(wrong ? { error: wrong } : {})}>
        <textarea rows={8} spellcheck={false} readOnly={!mine(e)} value={shown}
          onInput={(ev) => { setSaved(false); setText(ev.currentTarget.value); }} />
      </Field>
      <Failure error={error} />
      {mine(e) && <button disabled={busy || text === undefined}>{t("common.save")}</button>} {saved && <span role="status">{t("exp.saved")}</span>}
    </form>
  );
}

/** Trials of the server's own experiments are its jobs; of others it has what they printed. */
function trialName(x: Trial, e: Experiment) {
  const to = e.owner && x.job ? href(["jobs", x.job]) : href(["experiments", e.id], { tab: "log", trial: x.id });
  return <a href={to}>{x.trial}</a>;
}

/** What a trial printed, by parts until nothing more comes. */
function TrialLog({ e, trial }: { e: string; trial: string }) {
  const path = pathOf`/experiments/${e}/trials/${trial}`;
  const live = useLive<string>((stop) => request("GET", `${path}/log?offset=0`, undefined, stop).then((r) => r.text()), [path], 0);
  const about = useLive<Trial>((stop) => get(path, stop), [path], 0);
  return (
    <section class="card">
      <h2>{t("exp.trial")} {about.data?.trial} {about.data && <State of={about.data.status} />}</h2>
      {about.data?.message && <p class="failure">{plain(about.data.message)}</p>}
      {about.data && <Command text={JSON.stringify(about.data.parameters, null, 2)} />}
      <h2 class="spaced">{t("job.logs")}</h2>
      <Failure error={live.error ?? about.error} />
      {live.data !== undefined && (
        <pre class="printed" tabIndex={0}>{live.data.split("\n").slice(-2000).map((line, i) => (
          <div key={i}>{pieces(line.slice(0, 4000)).map((p, k) => <span class={p.cls} key={k}>{p.text}</span>)}</div>
        ))}</pre>
      )}
    </section>
  );
}

function parametersText(x: Trial): string {
  return Object.entries(flatten(x.parameters)).map(([k, v]) => `${k}=${value(v)}`).join("  ");
}

function Overview({ e, s, changed }: { e: Experiment; s: Study; changed: () => void }) {
  const front = e.best?.front && new Set(e.best.front.map((f) => f.trial));
  const best = (front ? s.done.filter((x) => front.has(x.trial)) : [...s.done].sort((a, b) => s.better(b.value!) - s.better(a.value!))).slice(0, 10);
  const goals = front ? Object.keys(best[0]?.values ?? {}) : [];
  return (
    <div class="columns">
      <div>
        <section class="card">
          <h2>{t("exp.overview")}</h2>
          {e.error && <p class="failure">{t("exp.error")}: {plain(e.error)}</p>}
          {e.held && <p class="failure">{plain(e.held)}</p>}
          <Facts rows={[
            [t("exp.best"), <strong>{front ? bestOf(e) : number(best[0]?.value ?? e.best?.value)}</strong>],
            [front ? t("exp.tuner") : s.least ? t("exp.minimize") : t("exp.maximize"), plain(e.tuner)],
            [t("exp.seconds"), duration(e.seconds * 1000)],
            [t("exp.trials"), Object.entries(e.trials).filter(([, n]) => n > 0).map(([k, n]) => <span class="pair"><State of={k} /> {n}</span>)],
            [t("exp.directory"), <code>{plain(e.dir)}</code>],
          ]} />
        </section>
        <Limits e={e} changed={changed} key={e.id} />
        <Space e={e} key={`space ${e.id}`} />
      </div>
      <section class="card">
        <h2>{t("exp.topTrials")}</h2>
        {front && <p class="dim">{t("exp.frontHint")}</p>}
        {!best.length && <p class="dim">{t("exp.noResults")}</p>}
        {best.length > 0 && (
          <Table label={t("exp.topTrials")} head={[t("exp.trial"), t("common.state"), ...(goals.length ? goals.map(plain) : [t("exp.result")]), t("common.duration"), t("common.parameters")]}>
            {best.map((x) => <tr key={x.id}><td class="num">{trialName(x, e)}</td><td title={plain(x.message)}><State of={x.status} /></td>{goals.length ? goals.map((g) => <td class="num" key={g}>{number(x.values?.[g])}</td>) : <td class="num">{number(x.value)}</td>}<td class="num">{duration(lasted(x))}</td><td class="mono small">{plain(parametersText(x))}</td></tr>)}
          </Table>
        )}
      </section>
    </div>
  );
}

type Order = { by: string; down: boolean };

function Trials({ e, s, changed }: { e: Experiment; s: Study; changed: () => void }) {
  const names = useMemo(() => [...new Set(s.trials.flatMap((x) => Object.keys(flatten(x.parameters))))], [s.trials]);
  const [hidden, setHidden] = useState<string[]>([]);
  const [order, setOrder] = useState<Order>({ by: "trial", down: true });
  const [text, setText] = useState("");
  const [shown, setShown] = useState(100);
  const { error, act } = useAction();
  const columns = names.filter((n) => !hidden.includes(n));
  const keyOf = (x: Trial, by: string): number | string | null => {
    if (by === "trial") return x.trial;
    if (by === "value") return x.value;
    if (by === "time") return lasted(x);
    if (by === "status") return x.status;
    const v = flatten(x.parameters)[by];
    return typeof v === "number" ? v : v === undefined ? null : value(v);
  };
  const rows = s.trials
    .filter((x) => !text || `${x.trial} ${x.id} ${x.status} ${parametersText(x)}`.toLowerCase().includes(text.toLowerCase()))
    .sort((a, b) => {
      const p = keyOf(a, order.by);
      const q = keyOf(b, order.by);
      if (p === null || q === null) return (p === null ? 1 : 0) - (q === null ? 1 : 0);
      return (p < q ? -1 : p > q ? 1 : 0) * (order.down ? -1 : 1);
    });
  const head = (by: string, label: string) => (
    <button type="button" class="link" onClick={() => setOrder({ by, down: order.by === by ? !order.down : true })}>
      {plain(label)}{order.by === by && <span aria-hidden="true"> {order.down ? "↓" : "↑"}</span>}
    </button>
  );
  return (
    <>
      <div class="filters">
        <input type="search" aria-label={t("common.search")} placeholder={t("common.search")} value={text} onInput={(ev) => setText(ev.currentTarget.value)} />
        <details class="menu"><summary>{t("exp.columns")}</summary>
          <div>{names.map((n) => <label class="check" key={n}><input type="checkbox" checked={!hidden.includes(n)} onChange={(ev) => setHidden(ev.currentTarget.checked ? hidden.filter((h) => h !== n) : [...hidden, n])} /> {plain(n)}</label>)}</div>
        </details>
        <span class="dim">{t("common.showing", { n: Math.min(shown, rows.length) })}</span>
      </div>
      <Failure error={error} />
      <Table label={t("exp.table")} head={[head("trial", t("exp.trial")), t("common.id"), head("status", t("common.state")), head("value", t("exp.result")), head("time", t("common.duration")), ...columns.map((n) => head(n, n)), ""]}>
        {rows.slice(0, shown).map((x) => {
          const p = flatten(x.parameters);
          return (
            <tr key={x.id}>
              <td class="num">{trialName(x, e)}</td><td class="mono">{x.id}</td><td title={plain(x.message)}><State of={x.status} /></td>
              <td class="num">{number(x.value)}</td><td class="num">{duration(lasted(x))}</td>
              {columns.map((n) => <td class="num" key={n}>{p[n] === undefined ? "–" : plain(value(p[n]))}</td>)}
              <td>{x.status === "RUNNING" && mine(e) && (
                <button type="button" class="small danger" aria-label={t("exp.stopTrial", { n: x.trial })} onClick={() => act(async () => { await send("POST", pathOf`/experiments/${e.id}/trials/${x.id}/stop`); changed(); })}>{t("exp.stop")}</button>
              )}</td>
            </tr>
          );
        })}
      </Table>
      {rows.length > shown && <p class="foot"><button type="button" onClick={() => setShown(shown + 1000)}>{t("common.more")}</button></p>}
    </>
  );
}

function History({ s }: { s: Study }) {
  const curves = useMemo((): Curve[] => {
    const x = s.done.map((d) => d.trial);
    const y = s.done.map((d) => d.value!);
    let best = s.least ? Infinity : -Infinity;
    const top = y.map((v) => (best = s.least ? Math.min(best, v) : Math.max(best, v)));
    return [{ label: t("exp.result"), x, y }, { label: t("exp.bestSoFar"), x, y: top }];
  }, [s]);
  return <Chart name={t("exp.history")} curves={curves} look={{ height: 340, points: true }} />;
}

function Coordinates({ s }: { s: Study }) {
  const [chosen, setChosen] = useState<Trial[]>(s.done);
  const axes = useMemo((): Axis[] => {
    const values = s.done.map((x) => x.value!);
    const result: Axis = { name: t("exp.result"), result: true, low: Math.min(...values), high: Math.max(...values), log: false, of: (x) => x.value, label: (v) => number(v) };
    return [...columnsOf(s.done), result];
  }, [s.done]);
  return (
    <>
      <Parallel axes={axes} trials={s.done} better={s.better} choose={setChosen} />
      <p role="status">{t("exp.chosen", { n: chosen.length, m: s.done.length })}</p>
      <Table label={t("exp.table")} head={[t("exp.trial"), t("common.state"), t("exp.result"), t("common.parameters")]}>
        {[...chosen].sort((a, b) => s.better(b.value!) - s.better(a.value!)).slice(0, 20).map((x) => (
          <tr key={x.id}><td class="num">{x.trial}</td><td><State of={x.status} /></td><td class="num">{number(x.value)}</td><td class="mono small">{plain(parametersText(x))}</td></tr>
        ))}
      </Table>
    </>
  );
}

function Weights({ s }: { s: Study }) {
  const [list, setList] = useState<Importance[]>();
  useEffect(() => {
    const timer = setTimeout(() => {
      const columns = columnsOf(s.done).filter((c) => c.high > c.low && s.done.every((x) => c.of(x) !== null));
      const x = columns.map((c) => Float64Array.from(s.done, (d) => (c.log ? Math.log(c.of(d)!) : c.of(d)!)));
      setList(importance(columns, x, Float64Array.from(s.done, (d) => d.value!)));
    });
    return () => clearTimeout(timer);
  }, [s.done.length]);
  if (s.done.length < ENOUGH) return <p class="dim">{t("exp.few", { n: ENOUGH })}</p>;
  if (!list) return <Loading />;
  return (
    <section class="card">
      <p class="dim">{t("exp.importanceHint", { n: TREES })}</p>
      <Bars label={t("exp.importance")} rows={list.map((i) => ({ name: i.name, value: i.share, text: `${(100 * i.share).toFixed(1)} %` }))} />
    </section>
  );
}

/** One objective against the other; trials that nothing beats are blue. */
function Front({ e, s }: { e: Experiment; s: Study }) {
  const front = new Set((e.best?.front ?? []).map((f) => f.trial));
  const [first, second] = Object.keys(s.done[0]?.values ?? {});
  const columns = useMemo((): Column[] => {
    if (!first || !second) return [];
    const numbers = s.done.map((x) => x.values?.[second] ?? 0);
    return [{ name: `${first} / ${second}`, log: false, low: Math.min(...numbers), high: Math.max(...numbers), of: (x) => x.values?.[second] ?? null, label: (v) => `${second} ${number(v)}` }];
  }, [s.done]);
  const best = s.done.filter((x) => front.has(x.trial));
  return (
    <>
      {columns.map((c) => <Slice key={c.name} column={c} trials={s.done} better={(_, x) => (front.has(x.trial) ? 1 : 0)} height={380} />)}
      <Table label={t("exp.pareto")} head={[t("exp.trial"), ...Object.keys(best[0]?.values ?? {}), t("common.parameters")]}>
        {best.map((x) => <tr key={x.id}><td class="num">{trialName(x, e)}</td>{Object.values(x.values ?? {}).map((v, i) => <td class="num" key={i}>{number(v)}</td>)}<td class="mono small">{plain(parametersText(x))}</td></tr>)}
      </Table>
    </>
  );
}

function Intermediate({ s }: { s: Study }) {
  const curves = useMemo((): Curve[] => s.trials.filter((x) => x.intermediate.length > 1)
    .sort((a, b) => s.better(b.value ?? 0) - s.better(a.value ?? 0)).slice(0, 50)
    .map((x) => ({ label: `${t("exp.trial")} ${x.trial}`, x: x.intermediate.map((_, i) => i), y: x.intermediate })), [s]);
  if (!curves.length) return <p class="dim">{t(s.done.length ? "exp.noIntermediate" : "exp.noResults")}</p>;
  return <Chart name={t("exp.intermediate")} curves={curves} look={{ height: 380 }} />;
}

function Durations({ s }: { s: Study }) {
  const rows = [...s.trials].filter((x) => x.started).sort((a, b) => lasted(b) - lasted(a)).slice(0, 200);
  return <section class="card"><Bars label={t("exp.durations")} rows={rows.map((x) => ({ name: `${t("exp.trial")} ${x.trial}`, value: lasted(x), text: duration(lasted(x)) }))} /></section>;
}

function save(name: string, trials: Trial[]): void {
  const names = [...new Set(trials.flatMap((x) => Object.keys(flatten(x.parameters))))];
  const rows = trials.map((x) => {
    const p = flatten(x.parameters);
    return [x.trial, x.id, x.status, x.value, lasted(x) / 1000, ...names.map((n) => (typeof p[n] === "number" ? String(p[n]) : p[n]))].map(csvCell).join(",");
  });
  const text = [["trial", "id", "status", "value", "seconds", ...names].map(csvCell).join(","), ...rows].join("\n");
  saveFile(`${name}.csv`, [text + "\n"], "text/csv");
}

const VIEWS = ["overview", "table", "history", "parallel", "slices", "contour", "importance", "intermediate", "durations", "pareto"] as const;
type View = (typeof VIEWS)[number];

export function ExperimentPage({ id }: { id: string }) {
  const path = pathOf`/experiments/${id}`;
  const pace = (e: { status: string }) => (LIVE.includes(e.status) ? EVERY : 0);
  const live = useLive<Experiment>((stop) => get(path, stop), [id], pace, "experiments");
  const e = live.data;
  const trials = useLive<Trial[]>((stop) => (e ? allTrials(id, stop) : new Promise(() => undefined)), [id, e?.status ?? ""], e ? pace(e) : 0, "experiments");
  const s = useMemo(() => studyOf(trials.data ?? [], e?.maximize === false), [trials.data, e?.maximize]);
  const view = (route.value.query.get("tab") ?? "overview") as View;
  const trial = route.value.query.get("trial");
  const { error, busy, act } = useAction();
  if (!e) return live.error ? <Failure error={live.error} /> : <Loading />;
  const post = (what: string) => act(async () => {
    await send("POST", `${path}/${what}`);
    live.reload();
  });
  const stop = async () => (await sure(t("exp.stopSure"))) && post("stop");
  const empty = !s.done.length && ["history", "parallel", "slices", "contour", "importance", "pareto"].includes(view);
  return (
    <Page title={plain(e.name) || e.id} sub={<><State of={e.status} /> <span class="mono dim">{e.id}</span></>}
      actions={<>
        <button type="button" onClick={() => save(e.id, s.trials)} disabled={!s.trials.length}>{t("exp.export")}</button>
        {mine(e) && e.managed && <button type="button" class="danger" disabled={busy} onClick={stop}>{t("exp.stop")}</button>}
        {mine(e) && !e.managed && e.status !== "DONE" && <button type="button" disabled={busy} onClick={() => post("resume")}>{t("exp.resume")}</button>}
      </>}>
      <Failure error={error ?? trials.error} />
      <Tabs label={plain(e.name)} now={view} choose={(k) => go(["experiments", id], { tab: k === "overview" ? undefined : k })}
        tabs={VIEWS.filter((v) => v !== "pareto" || e.best?.front).map((v): [View, string] => [v, t(`exp.${v}`)])} />
      {!trials.data && !trials.error && <Loading />}
      {trials.data && empty && <p class="dim">{t("exp.noResults")}</p>}
      {trials.data && view === "overview" && <Overview e={e} s={s} changed={live.reload} />}
      {trials.data && view === "table" && <Trials e={e} s={s} changed={trials.reload} />}
      {trials.data && !empty && view === "history" && <History s={s} />}
      {trials.data && !empty && view === "parallel" && <Coordinates s={s} />}
      {trials.data && !empty && view === "slices" && <div class="charts">{columnsOf(s.done).map((c) => <Slice key={c.name} column={c} trials={s.done} better={s.better} />)}</div>}
      {trials.data && !empty && view === "contour" && <Contour columns={columnsOf(s.done)} trials={s.done} better={s.better} />}
      {trials.data && !empty && view === "importance" && <Weights s={s} />}
      {trials.data && view === "intermediate" && <Intermediate s={s} />}
      {trial && route.value.query.get("tab") === "log" && <TrialLog e={id} trial={trial} />}
      {trials.data && !empty && view === "pareto" && <Front e={e} s={s} />}
      {trials.data && view === "durations" && <Durations s={s} />}
    </Page>
  );
}
