// SPDX-License-Identifier: Apache-2.0
// One job: what became of it, its workers, logs, curves, files, and what can be done with it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, address, get, getText, may, pathOf, query, send } from "./api";
import { t } from "./i18n";
import { useLive } from "./live";
import { go, href, route, setQuery } from "./router";
import { bytes, clock, duration, ms, number, plain, stamp, value } from "./format";
import { Ago, Command, Facts, Field, Lasted, Failure, Loading, Page, State, Table, Tabs, sure, useAction } from "./ui";
import { ENDED, type Job } from "./jobs";
import { LogView } from "./log";
import { MetricsOf } from "./runs";
import { JobTraining } from "./training";

interface Worker {
  index: number;
  role: string;
  node?: string;
  attempt: number;
  state: string;
  code?: number;
  signal?: number;
  cpu_s?: number;
  rss_bytes?: number;
}

export interface JobDetail extends Job {
  spec: Record<string, unknown>;
  status: {
    message: string;
    restarts: number;
    percent?: number;
    eta?: number;
    step?: number;
    exit?: { code: number; signal: number };
    workers?: Worker[];
  };
  metrics: Record<string, { value: number; step: number }>;
}

interface JobEvent {
  seq: number;
  time: string;
  type: string;
  attempt: number;
  worker?: number;
  reason?: string;
  message?: string;
  data?: Record<string, unknown>;
}

interface Output {
  channel: string;
  path: string;
  path_hex?: string;
  bytes: number;
  sha256?: string;
  where?: string;
}

const EVERY = 2000;
function pace(j: { state: string }): number {
  return ENDED.includes(j.state) ? 0 : EVERY;
}

function Buttons({ job, changed }: { job: JobDetail; changed: () => void }) {
  const { error, busy, act } = useAction();
  const [script, setScript] = useState("");
  const path = pathOf`/jobs/${job.id}`;
  const over = ENDED.includes(job.state);
  const post = (what: string) => act(async () => {
    await send("POST", `${path}/${what}`, what === "stop" ? {} : undefined);
    changed();
  });
  const stop = async () => (await sure(t("job.stopSure"))) && post("stop");
  const again = () => act(async () => go(["jobs", (await send<Job>("POST", `${path}/rerun`)).id]));
  const remove = async () => {
    if (!(await sure(t("job.deleteSure")))) return;
    await act(async () => {
      await send("DELETE", path);
      go(["jobs"]);
    });
  };
  return (
    <>
      <div class="actions">
        <button type="button" onClick={() => act(async () => setScript(await getText(`${path}/script`)))}>{t("job.script")}</button>
        {may("submitter") && !over && job.state !== "Suspended" && <button type="button" disabled={busy} onClick={() => post("suspend")}>{t("job.suspend")}</button>}
        {may("submitter") && job.state === "Suspended" && <button type="button" disabled={busy} onClick={() => post("resume")}>{t("job.resume")}</button>}
        {may("submitter") && <button type="button" disabled={busy} onClick={again}>{t("job.rerun")}</button>}
        {may("submitter") && !over && <button type="button" class="danger" disabled={busy} onClick={stop}>{t("job.stop")}</button>}
        {may("submitter") && over && <button type="button" class="danger" disabled={busy} onClick={remove}>{t("job.delete")}</button>}
      </div>
      <Failure error={error} />
      {script && <section class="card"><p>{t("job.scriptHint")}</p><Command text={script} /></section>}
    </>
  );
}

function eventText(e: JobEvent): string {
  if (e.type === "StateChanged") return String(e.data?.state ?? "");
  if (e.type === "Progress") return `${e.type} ${value(e.data?.percent ?? "")}%`;
  return e.type;
}

function Timeline({ id, pace: every }: { id: string; pace: number }) {
  const list = useLive<{ events: JobEvent[] }>((stop) => get(pathOf`/jobs/${id}/events?limit=1000`, stop), [id, every], every);
  const events = (list.data?.events ?? []).filter((e) => e.type !== "Progress");
  return (
    <section class="card">
      <h2>{t("job.timeline")}</h2>
      <ol class="timeline">
        {events.map((e) => (
          <li key={e.seq} class={e.type === "StateChanged" ? "major" : ""}>
            <time dateTime={e.time} title={stamp(ms(e.time))}>{clock(ms(e.time))}</time>
            <span>
              {e.type === "StateChanged" ? <State of={eventText(e)} /> : plain(eventText(e))}
              {e.worker !== undefined && <span class="dim"> {t("log.worker")} {e.worker}</span>}
              {e.reason && <span class="dim"> {plain(e.reason)}</span>}
              {e.message && <span> {plain(e.message)}</span>}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Workers({ job }: { job: JobDetail }) {
  const workers = job.status.workers ?? [];
  if (!workers.length) return null;
  return (
    <section class="card">
      <h2>{t("job.workers")}</h2>
      <Table label={t("job.workers")} head={["#", t("job.role"), t("common.state"), t("job.node"), t("job.exit"), "CPU s", t("job.peak"), t("job.logs")]}>
        {workers.map((w) => (
          <tr key={w.index}>
            <td class="num">{w.index}</td>
            <td>{plain(w.role)}</td>
            <td><State of={w.state} /></td>
            <td>{plain(w.node ?? "")}</td>
            <td class="num">{w.code === undefined ? "–" : w.signal ? `SIG ${w.signal}` : w.code}</td>
            <td class="num">{number(w.cpu_s)}</td>
            <td class="num">{w.rss_bytes ? bytes(w.rss_bytes) : "–"}</td>
            <td><a href={href(["jobs", job.id], { tab: "logs", worker: String(w.index) })}>{t("job.logs")}</a></td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function Overview({ job }: { job: JobDetail }) {
  const why = useLive<{ why: string }>((stop) => get(pathOf`/jobs/${job.id}/why`, stop), [job.id, job.state, job.reason], pace(job));
  const s = job.status;
  const percent = s.percent ?? -1;
  return (
    <div class="columns">
      <div>
        <section class="card why">
          <h2>{t("job.why")}</h2>
          <p>{why.data ? plain(why.data.why) : "…"}</p>
          {s.message && why.data && !why.data.why.includes(s.message) && <p>{plain(s.message)}</p>}
          {percent >= 0 && (
            <div class="progress">
              <progress max={100} value={percent} aria-label={t("job.progress")} />
              <span>{percent.toFixed(0)} % {s.eta !== undefined && s.eta >= 0 && !ENDED.includes(job.state) && t("job.remaining", { time: duration(s.eta * 1000) })}</span>
            </div>
          )}
        </section>
        <section class="card">
          <h2>{t("job.overview")}</h2>
          <Facts rows={[
            [t("common.owner"), plain(job.owner)],
            [t("common.project"), plain(job.project) || t("common.none")],
            [t("jobs.queue"), `${plain(job.queue)}, ${t("jobs.priority")} ${job.priority}`],
            [t("jobs.backend"), plain(job.backend)],
            [t("jobs.workers"), job.workers],
            [t("job.resources"), `${job.cpu_milli / 1000} ${t("job.cpu")}${job.memory ? `, ${bytes(job.memory)}` : ""}${job.gpu ? `, ${job.gpu} ${t("job.gpu")}` : ""}`],
            [t("jobs.attempt"), `${job.attempt}`],
            [t("common.created"), stamp(ms(job.created))],
            [t("job.started"), stamp(ms(job.started))],
            [t("job.finished"), stamp(ms(job.finished))],
            [t("common.duration"), <Lasted from={ms(job.started)} to={ms(job.finished)} />],
            [t("job.exit"), s.exit ? (s.exit.signal ? `SIG ${s.exit.signal}` : s.exit.code) : "–"],
          ]} />
        </section>
        <section class="card"><h2>{t("job.command")}</h2><Command text={commandOf(job.spec)} /></section>
      </div>
      <div>
        <Workers job={job} />
        <Timeline id={job.id} pace={pace(job)} />
      </div>
    </div>
  );
}

function commandOf(spec: Record<string, unknown>): string {
  const c = spec.command;
  return Array.isArray(c) ? c.map(String).join(" ") : String(c ?? "");
}

function Logs({ job }: { job: JobDetail }) {
  const logs = useLive<{ logs: { log: string; attempt: number; bytes: number }[] }>((stop) => get(pathOf`/jobs/${job.id}/logs`, stop), [job.id, job.attempt, job.state], 0);
  const q = route.value.query;
  const all = logs.data?.logs ?? [];
  const worker = q.get("worker") ?? all.find((l) => l.log !== "prepare")?.log ?? "0";
  const attempts = [...new Set(all.filter((l) => l.log === worker).map((l) => l.attempt))].sort((a, b) => b - a);
  const attempt = Number(q.get("attempt")) || attempts[0] || job.attempt || 1;
  const names = [...new Set([...all.map((l) => l.log), ...Array.from({ length: job.workers }, (_, i) => String(i))])];
  return (
    <>
      <div class="filters">
        <label>{t("log.worker")} <select value={worker} onChange={(e) => setQuery({ worker: e.currentTarget.value, attempt: undefined })}>
          {names.map((n) => <option value={n} key={n}>{n === "prepare" ? t("log.prepare") : n}</option>)}
        </select></label>
        <label>{t("log.attempt")} <select value={String(attempt)} onChange={(e) => setQuery({ attempt: e.currentTarget.value })}>
          {(attempts.length ? attempts : [attempt]).map((n) => <option value={String(n)} key={n}>{n}</option>)}
        </select></label>
      </div>
      {logs.data ? <LogView job={job.id} worker={worker} attempt={attempt} /> : <Loading />}
      <Failure error={logs.error} />
    </>
  );
}

function outputAddress(id: string, o: Output): string {
  const name = o.path_hex ? { path_hex: o.path_hex } : { path: o.path };
  return address(pathOf`/jobs/${id}/outputs/${o.channel}` + query(name));
}

/** Names a channel of the outputs as a model, or as the next version of one. */
function Register({ job, outputs }: { job: JobDetail; outputs: Output[] }) {
  const channels = [...new Set(outputs.map((o) => o.channel))];
  const [form, setForm] = useState({ name: job.name, channel: channels.includes("model") ? "model" : channels[0]!, note: "" });
  const { error, busy, act } = useAction();
  const submit = (e: Event) => {
    e.preventDefault();
    void act(async () => {
      const made = await send<{ name: string; version: number }>("POST", "/models", { ...form, job: job.id });
      go(["models", made.name, String(made.version)]);
    });
  };
  const set = (k: keyof typeof form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t("models.register")}</h2>
      <p class="dim">{t("models.registerHint")}</p>
      <div class="grid">
        <Field label={t("common.name")}><input name="model" value={form.name} onInput={set("name")} required /></Field>
        <Field label={t("job.channel")}><select name="channel" value={form.channel} onChange={set("channel")}>{channels.map((c) => <option key={c}>{c}</option>)}</select></Field>
        <Field label={t("models.note")}><input name="note" value={form.note} onInput={set("note")} /></Field>
      </div>
      <Failure error={error} />
      <button disabled={busy}>{t("models.doRegister")}</button>
    </form>
  );
}

function Files({ job }: { job: JobDetail }) {
  const list = useLive<{ outputs: Output[] }>((stop) => get(pathOf`/jobs/${job.id}/outputs`, stop), [job.id, job.state], pace(job));
  const inputs = Object.entries((job.spec.input as Record<string, unknown> | undefined) ?? {});
  const data = Array.isArray(job.spec.data) ? (job.spec.data as unknown[]) : [];
  const outputs = list.data?.outputs ?? [];
  return (
    <>
      {inputs.length + data.length > 0 && (
        <section class="card">
          <h2>{t("job.inputs")}</h2>
          <Facts rows={[
            ...inputs.map(([k, v]): [string, JSX.Element] => [plain(k), <code>{plain(value(v))}</code>]),
            ...data.map((v): [string, JSX.Element] => [t("data.title"), <code>{plain(value(v))}</code>]),
          ]} />
        </section>
      )}
      <section class="card">
        <h2>{t("job.outputs")}</h2>
        <Failure error={list.error} />
        {list.data && list.data.outputs.length === 0 && <p class="dim">{t("job.noOutputs")}</p>}
        {list.data && list.data.outputs.length > 0 && (
          <Table label={t("job.outputs")} head={[t("job.channel"), t("job.path"), t("job.size"), t("job.sha"), ""]}>
            {list.data.outputs.slice(0, 2000).map((o) => (
              <tr key={`${o.channel}/${o.path}`}>
                <td>{plain(o.channel)}</td>
                <td class="mono">{plain(o.path)}</td>
                <td class="num">{bytes(o.bytes)}</td>
                <td class="mono dim" title={o.sha256 ?? ""}>{o.sha256?.slice(0, 16) ?? "–"}</td>
                <td>{!o.where && <a href={outputAddress(job.id, o)} download={o.path.split("/").at(-1)}>{t("common.download")}</a>}</td>
              </tr>
            ))}
          </Table>
        )}
      </section>
      {outputs.length > 0 && job.state === "Succeeded" && may("submitter") && <Register job={job} outputs={outputs} />}
    </>
  );
}

type Tab = "overview" | "logs" | "metrics" | "training" | "files" | "spec";

export function JobPage({ id }: { id: string }) {
  const live = useLive<JobDetail>(async (stop) => {
    const j = await get<JobDetail>(pathOf`/jobs/${id}`, stop);
    if (j.id !== id) throw new ApiError(404, "", id);
    return j;
  }, [id], pace);
  const job = live.data;
  const tab = (route.value.query.get("tab") ?? "overview") as Tab;
  if (!job) return live.error ? <Failure error={live.error} /> : <Loading />;
  return (
    <Page title={plain(job.name) || job.id}
      sub={<><State of={job.state} /> <span class="mono dim">{job.id}</span> <span class="dim"><Ago at={ms(job.created)} /></span></>}>
      <Buttons job={job} changed={live.reload} />
      <Tabs label={plain(job.name)} now={tab} choose={(k) => go(["jobs", id], { tab: k === "overview" ? undefined : k })}
        tabs={[["overview", t("job.overview")], ["logs", t("job.logs")], ["metrics", t("job.metrics")], ["training", t("job.training")], ["files", t("job.files")], ["spec", t("job.spec")]]} />
      {tab === "overview" && <Overview job={job} />}
      {tab === "logs" && <Logs job={job} />}
      {tab === "metrics" && <MetricsOf of={[{ id: job.id, name: job.name, live: !ENDED.includes(job.state) }]} />}
      {tab === "training" && <JobTraining id={job.id} live={!ENDED.includes(job.state)} />}
      {tab === "files" && <Files job={job} />}
      {tab === "spec" && <section class="card"><Command text={JSON.stringify(job.spec, null, 2)} /></section>}
    </Page>
  );
}
