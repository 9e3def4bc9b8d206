// SPDX-License-Identifier: Apache-2.0
// Datasets, schedules, quotas and usage: tables of what the server keeps.
import { useState } from "preact/hooks";
import { ApiError, get, may, mine, pathOf, send } from "./api";
import { t } from "./i18n";
import { useLive } from "./live";
import { href } from "./router";
import { bytes, cores, few, ms, number, plain, stamp } from "./format";
import { Calendar } from "./calendar";
import { Ago, Empty, Failure, Field, Loading, Page, Table, sure, useAction } from "./ui";

interface Dataset {
  name: string;
  id: string;
  type: string;
  path: string;
  mount: string;
  owner: string;
  created: string;
}

const NEW = { name: "", path: "", mount: "/mnt/data", writable: false };
/** Directories of the server are for admins to name. */
const types = () => (may("admin") ? ["local", "nas", "s3", "oss", "odps"] : ["s3", "oss", "odps"]);

function NewDataset({ made }: { made: () => void }) {
  const blank = { ...NEW, type: types()[0]! };
  const [form, setForm] = useState(blank);
  const { error, busy, act } = useAction();
  const submit = (e: Event) => {
    e.preventDefault();
    void act(async () => {
      const { writable, ...rest } = form;
      await send("POST", "/datasets", writable ? form : rest);
      setForm(blank);
      made();
    });
  };
  const set = (k: "name" | "path" | "mount" | "type") => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const wrong = error instanceof ApiError ? /^'(\w+)'/.exec(error.message) : null; // the field that a message names
  const at = (k: string) => (wrong?.[1] === k ? { error: (error as ApiError).message } : {});
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t("data.new")}</h2>
      <div class="grid">
        <Field label={t("common.name")} {...at("name")}><input name="name" value={form.name} onInput={set("name")} required /></Field>
        <Field label={t("data.type")} {...at("type")}><select name="type" value={form.type} onChange={set("type")}>{types().map((k) => <option key={k}>{k}</option>)}</select></Field>
        <Field label={t("data.uri")} hint={t(may("admin") ? "data.pathHint" : "data.uriHint")} {...at("path")}><input name="path" value={form.path} onInput={set("path")} required /></Field>
        <Field label={t("data.mount")} {...at("mount")}><input name="mount" value={form.mount} onInput={set("mount")} /></Field>
      </div>
      {may("admin") && <label class="check"><input type="checkbox" checked={form.writable} onChange={(e) => setForm({ ...form, writable: e.currentTarget.checked })} /> {t("data.writable")}</label>}
      <Failure error={error} />
      <p><button disabled={busy}>{t("data.create")}</button></p>
    </form>
  );
}

function DeleteDataset({ name, gone }: { name: string; gone: () => void }) {
  const { error, busy, act } = useAction();
  const ask = async () => (await sure(t("data.deleteSure", { name: plain(name) }))) && act(async () => {
    await send("DELETE", pathOf`/datasets/${name}`);
    gone();
  });
  return <><button type="button" class="small" disabled={busy} onClick={ask} aria-label={t("data.delete", { name: plain(name) })}>{t("job.delete")}</button><Failure error={error} /></>;
}

export function Datasets() {
  const list = useLive<{ datasets: Dataset[] }>((stop) => get("/datasets", stop), [], 5000, "records");
  const all = list.data?.datasets ?? [];
  return (
    <Page title={t("data.title")}>
      <Failure error={list.error} />
      {!list.data && !list.error && <Loading />}
      {list.data && !all.length && <Empty title={t("data.empty")} hint={t("data.emptyHint")} command="trainyard dataset create clicks --path /data/clicks" />}
      {all.length > 0 && (
        <Table label={t("data.title")} head={[t("common.name"), t("data.type"), t("data.uri"), t("data.mount"), t("common.owner"), t("common.created"), ""]}>
          {all.map((d) => (
            <tr key={d.id}>
              <td>{plain(d.name)}<div class="dim mono">{d.id}</div></td><td>{plain(d.type)}</td><td class="mono">{plain(d.path)}</td>
              <td class="mono">{plain(d.mount)}</td><td>{plain(d.owner ?? "")}</td><td class="num"><Ago at={ms(d.created)} /></td>
              <td>{mine({ owner: d.owner }) && <DeleteDataset name={d.name} gone={list.reload} />}</td>
            </tr>
          ))}
        </Table>
      )}
      {list.data && may("submitter") && <div class="spaced"><NewDataset made={list.reload} /></div>}
    </Page>
  );
}

interface Run {
  outcome: string;
  planned?: string;
  job?: string;
  message?: string;
}

interface Schedule {
  name: string;
  owner: string;
  project: string;
  cron: string;
  zone: string;
  paused: boolean;
  stopped?: string;
  late?: string;
  next?: string;
  created?: string;
}

function ScheduleRow({ s, changed }: { s: Schedule; changed: () => void }) {
  const [runs, setRuns] = useState<Run[]>();
  const { error, busy, act } = useAction();
  const path = pathOf`/schedules/${s.name}`;
  const post = (what: string) => act(async () => {
    await send("POST", `${path}/${what}`, what === "run" ? {} : undefined);
    changed();
  });
  const show = () => (runs ? setRuns(undefined) : act(async () => setRuns((await get<{ runs: Run[] }>(`${path}/runs?limit=20`)).runs)));
  return (
    <>
      <tr>
        <td>{plain(s.name)}</td>
        <td class="mono">{plain(s.cron)} <span class="dim">{plain(s.zone)}</span></td>
        <td>{s.stopped ? plain(s.stopped) : s.paused ? t("sched.paused") : t("sched.active")}{s.late && <div class="dim">{plain(s.late)}</div>}</td>
        <td class="num">{s.next && !s.paused ? stamp(ms(s.next)) : "–"}</td>
        <td>{plain(s.owner)}</td>
        <td class="actions">
          <button type="button" class="small" aria-expanded={runs !== undefined} onClick={show}>{t("sched.runs")}</button>
          {mine(s) && <button type="button" class="small" disabled={busy} onClick={() => post(s.paused ? "resume" : "pause")}>{s.paused ? t("sched.resume") : t("sched.pause")}</button>}
          {mine(s) && <button type="button" class="small" disabled={busy} onClick={() => post("run")}>{t("sched.run")}</button>}
        </td>
      </tr>
      {(runs || !!error) && (
        <tr><td colSpan={6}>
          <Failure error={error} />
          {runs && <Table label={t("sched.runs")} head={[t("sched.planned"), t("sched.outcome"), t("exp.job"), ""]}>
            {runs.map((r, i) => <tr key={i}><td>{stamp(ms(r.planned))}</td><td>{plain(r.outcome)}</td><td>{r.job && <a class="mono" href={href(["jobs", r.job])}>{r.job}</a>}</td><td>{plain(r.message ?? "")}</td></tr>)}
          </Table>}
        </td></tr>
      )}
    </>
  );
}

export function Schedules() {
  const list = useLive<{ schedules: Schedule[] }>((stop) => get("/schedules", stop), [], 5000, "records");
  const all = list.data?.schedules ?? [];
  return (
    <Page title={t("sched.title")}>
      <Failure error={list.error} />
      {!list.data && !list.error && <Loading />}
      {list.data && !all.length && <Empty title={t("sched.empty")} hint={t("sched.emptyHint")} command="trainyard schedule create nightly --cron '0 2 * * *' -- python3 train.py" />}
      {all.length > 0 && (
        <Table label={t("sched.title")} head={[t("common.name"), t("sched.cron"), t("common.state"), t("sched.next"), t("common.owner"), t("common.actions")]}>
          {all.map((s) => <ScheduleRow key={s.name} s={s} changed={list.reload} />)}
        </Table>
      )}
      {all.length > 0 && <div class="spaced"><Calendar schedules={all} /></div>}
    </Page>
  );
}

interface UsageRow {
  name: string;
  jobs: number;
  running: number;
  cpu_s: number;
  gpu_s: number;
  memory_mib_s: number;
}

interface Storage {
  total: number;
  free: number;
  admits: boolean;
}

interface Quota {
  user?: string;
  name?: string;
  cpu_milli: number;
  memory: number;
  gpu: number;
  running: number;
  weight: number;
}

/** -1 is no limit. */
function most(v: number, say: (v: number) => string = number) {
  return v < 0 ? <span class="dim">{t("usage.noLimit")}</span> : say(v);
}

function QuotaRow({ q, who }: { q: Quota; who: string }) {
  return (
    <tr>
      <td>{who}</td><td class="num">{most(q.cpu_milli, cores)}</td><td class="num">{most(q.memory, bytes)}</td><td class="num">{most(q.gpu)}</td>
      <td class="num">{most(q.running)}</td><td class="num">{number(q.weight)}</td>
    </tr>
  );
}

function Quotas({ users, projects }: { users: Quota[]; projects: Quota[] }) {
  if (!users.length && !projects.length) return <p class="dim">{t("usage.noQuotas")}</p>;
  return (
    <>
      <Table label={t("usage.quotas")} head={[t("usage.whose"), t("usage.cpus"), t("job.memory"), t("job.gpu"), t("usage.atATime"), t("usage.weight")]}>
        {users.map((q) => <QuotaRow key={`u${q.user}`} q={q} who={q.user === "*" ? t("usage.everyone") : plain(q.user ?? "")} />)}
        {projects.map((q) => <QuotaRow key={`p${q.name}`} q={q} who={t("usage.theProject", { name: plain(q.name ?? "") })} />)}
      </Table>
      <p class="dim">{t("usage.weightHint")}</p>
    </>
  );
}

export function Usage() {
  const [by, setBy] = useState("owner");
  const use = useLive<{ usage: UsageRow[] }>((stop) => get(`/usage?by=${by}`, stop), [by], 10000);
  const disk = useLive<Storage>((stop) => get("/storage", stop), [], 30000);
  const quotas = useLive<{ quotas: Quota[] }>((stop) => get("/quotas", stop), [], 30000);
  const projects = useLive<{ projects: Quota[] }>((stop) => get("/projects", stop), [], 30000);
  return (
    <Page title={t("usage.title")}>
      <Failure error={use.error ?? disk.error ?? quotas.error ?? projects.error} />
      {disk.data && (
        <section class="card">
          <h2>{t("usage.storage")}</h2>
          <div class="progress">
            <progress max={disk.data.total} value={disk.data.total - disk.data.free} aria-label={t("usage.storage")} />
            <span>{t("usage.free", { free: bytes(disk.data.free), total: bytes(disk.data.total) })}</span>
          </div>
        </section>
      )}
      <section class="card">
        <h2>{t("usage.month")}</h2>
        <div class="filters">
          <label>{t("usage.by")} <select value={by} onChange={(e) => setBy(e.currentTarget.value)}>
            <option value="owner">{t("usage.byOwner")}</option><option value="project">{t("usage.byProject")}</option>
          </select></label>
        </div>
        <Table label={t("usage.month")} head={[t("common.name"), t("usage.jobs"), t("usage.running"), t("usage.cpu"), t("usage.gpu"), t("usage.memory")]}>
          {(use.data?.usage ?? []).map((u) => (
            <tr key={u.name}><td>{plain(u.name) || t("common.none")}</td><td class="num">{u.jobs}</td><td class="num">{u.running}</td>
              <td class="num">{few(u.cpu_s / 3600)}</td><td class="num">{few(u.gpu_s / 3600)}</td><td class="num">{few(u.memory_mib_s / 1024 / 3600)}</td></tr>
          ))}
        </Table>
      </section>
      <section class="card">
        <h2>{t("usage.quotas")}</h2>
        {quotas.data && projects.data && <Quotas users={quotas.data.quotas} projects={projects.data.projects} />}
      </section>
    </Page>
  );
}
