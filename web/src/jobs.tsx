// SPDX-License-Identifier: Apache-2.0
// The list of jobs. Filters stand in the address; the server sorts and pages. What is shown
// is asked for again when the server says that jobs have changed, further pages when their button is pressed.
import { useEffect, useState } from "preact/hooks";
import { get, may, query } from "./api";
import { t, type Key } from "./i18n";
import { useLive } from "./live";
import { href, route, setQuery } from "./router";
import { ms, plain } from "./format";
import { Ago, Lasted, Empty, Failure, Loading, Page, State, Table } from "./ui";

export interface Job {
  id: string;
  name: string;
  owner: string;
  project: string;
  state: string;
  reason: string;
  queue: string;
  backend: string;
  priority: number;
  workers: number;
  attempt: number;
  cpu_milli: number;
  memory: number;
  gpu: number;
  events: number;
  cursor: number;
  created: string;
  started?: string;
  finished?: string;
}

export const ENDED = ["Succeeded", "Failed", "Stopped"];
const GROUPS: [string, string[]][] = [
  ["Queuing", ["Creating", "Queuing", "EnvPreparing", "Restarting", "Suspended"]],
  ["Running", ["Running", "Stopping"]],
  ["Succeeded", ["Succeeded"]],
  ["Failed", ["Failed", "Unknown"]],
  ["Stopped", ["Stopped"]],
];
const PAGE = 100;
const EVERY = 2000;

/** The label that trials of experiments have. */
export const TRIAL = "experiment";

/** Whether trials are in a list; they are many. What is not usual in it stands in the address. */
export function withTrials(usual: boolean): boolean {
  const asked = route.value.query.get("trials");
  return asked ? asked === "yes" : usual;
}

export function Trials({ usual }: { usual: boolean }) {
  const change = (on: boolean) => setQuery({ trials: on === usual ? undefined : on ? "yes" : "no" });
  return <label class="check"><input type="checkbox" checked={withTrials(usual)} onChange={(e) => change(e.currentTarget.checked)} /> {t("jobs.trials")}</label>;
}

export function jobLink(j: { id: string; name: string }) {
  return <a href={href(["jobs", j.id])}>{plain(j.name) || j.id}</a>;
}

function JobRows({ jobs }: { jobs: Job[] }) {
  return (
    <>
      {jobs.map((j) => (
        <tr key={j.id}>
          <td>{jobLink(j)}<div class="dim mono">{j.id}</div></td>
          <td><State of={j.state} />{j.reason && <div class="dim">{plain(j.reason)}</div>}</td>
          <td>{plain(j.owner)}{j.project && <div class="dim">{plain(j.project)}</div>}</td>
          <td class="num">{j.workers}</td>
          <td>{plain(j.queue)}</td>
          <td class="num">{j.priority}</td>
          <td class="num"><Lasted from={ms(j.started)} to={ms(j.finished)} /></td>
          <td class="num"><Ago at={ms(j.created)} /></td>
        </tr>
      ))}
    </>
  );
}

function Filters({ counts }: { counts: Record<string, number> }) {
  const q = route.value.query;
  const state = q.get("state") ?? "";
  const [name, setName] = useState(q.get("name") ?? "");
  useEffect(() => {
    const timer = setTimeout(() => {
      if ((route.peek().query.get("name") ?? "") !== name) setQuery({ name: name || undefined });
    }, 250);
    return () => clearTimeout(timer);
  }, [name]);
  const total = Object.values(counts).reduce((a, b) => a + b, 0);
  const chip = (value: string, label: string, n: number) => (
    <button type="button" class="chip" aria-pressed={state === value} key={value} onClick={() => setQuery({ state: value || undefined })}>
      {label} <span class="dim">{n}</span>
    </button>
  );
  return (
    <div class="filters">
      <div class="chips" role="group" aria-label={t("common.state")}>
        {chip("", t("common.all"), total)}
        {GROUPS.map(([key, states]) =>
          chip(states.join(","), t(`state.${key}` as Key), states.reduce((n, s) => n + (counts[s] ?? 0), 0)))}
      </div>
      <input type="search" aria-label={t("jobs.byName")} placeholder={t("jobs.byName")} value={name}
        onInput={(e) => setName(e.currentTarget.value)} />
      <input type="search" aria-label={t("jobs.byOwner")} placeholder={t("jobs.byOwner")} value={q.get("owner") ?? ""}
        onChange={(e) => setQuery({ owner: e.currentTarget.value || undefined })} />
      <Trials usual={true} />
    </div>
  );
}

interface JobPage {
  jobs: Job[];
  next?: number;
}

export function Jobs() {
  const q = route.value.query;
  const filter = { state: q.get("state") ?? "", name: q.get("name") ?? "", owner: q.get("owner") ?? "", project: q.get("project") ?? "", without_label: withTrials(true) ? "" : TRIAL };
  const key = JSON.stringify(filter);
  const [more, setMore] = useState<{ of: string; jobs: Job[]; next: number | undefined }>({ of: "", jobs: [], next: undefined });
  const list = useLive<JobPage>((stop) => get(`/jobs${query({ ...filter, limit: PAGE })}`, stop), [key], EVERY, "jobs");
  const counts = useLive<{ counts: Record<string, number> }>((stop) => get("/counts", stop), [], EVERY, "jobs");
  const mine = more.of === key;
  const first = list.data?.jobs ?? [];
  const oldest = first.at(-1)?.cursor ?? 0;
  const jobs = mine ? [...first, ...more.jobs.filter((j) => j.cursor < oldest)] : first;
  const next = mine ? more.next : list.data?.next;
  const load = async () => {
    const page = await get<JobPage>(`/jobs${query({ ...filter, cursor: next, limit: 10 * PAGE })}`);
    setMore({ of: key, jobs: mine ? [...more.jobs, ...page.jobs] : page.jobs, next: page.next });
  };
  const filtered = Object.values(filter).some(Boolean);
  return (
    <Page title={t("jobs.title")} actions={may("submitter") && <a class="button primary" href={href(["jobs", "new"])}>{t("jobs.new")}</a>}>
      <Filters counts={counts.data?.counts ?? {}} />
      <Failure error={list.error} />
      {!list.data && !list.error && <Loading />}
      {list.data && jobs.length === 0 && !filtered && (
        <Empty title={t("jobs.empty")} hint={t("jobs.emptyHint")} command="trainyard job submit -- python3 train.py" />
      )}
      {list.data && jobs.length === 0 && filtered && (
        <div class="empty"><p class="big">{t("jobs.noMatch")}</p><a href={href(["jobs"])}>{t("jobs.clear")}</a></div>
      )}
      {jobs.length > 0 && (
        <>
          <Table label={t("jobs.title")} head={[t("common.name"), t("common.state"), t("common.owner"), t("jobs.workers"),
            t("jobs.queue"), t("jobs.priority"), t("common.duration"), t("common.created")]}>
            <JobRows jobs={jobs} />
          </Table>
          <p class="foot">{t("common.showing", { n: jobs.length })} {next !== undefined && <button type="button" onClick={load}>{t("common.more")}</button>}</p>
        </>
      )}
    </Page>
  );
}
