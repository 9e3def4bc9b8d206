// SPDX-License-Identifier: Apache-2.0
// One training run, in a directory or in the outputs of a job: its curves, checkpoints,
// features with their tables, the model as a picture, how it ended.
import { useMemo, useState } from "preact/hooks";
import { get, pathOf } from "./api";
import { t } from "./i18n";
import { useLive } from "./live";
import { go, route } from "./router";
import { bytes, ms, number, plain, stamp, value } from "./format";
import { Ago, Command, Facts, Failure, Loading, Page, State, Table, Tabs } from "./ui";
import { MetricsOf } from "./runs";
import { GraphPicture, type Graph } from "./graph";

interface Checkpoint {
  step: number;
  bytes: number;
  files: number;
  changed?: string;
}

interface TableLine {
  name: string;
  rows: number;
  dim: number;
  weights: number;
  state: number;
  rows_in_use: number;
  in_use: number;
}

interface Feature {
  name: string;
  kind: string;
  sequence: boolean;
  uses: number;
  width: number;
  table: number;
}

export interface Training {
  id: string;
  name: string;
  state: string;
  changed?: string;
  bytes: number;
  files: number;
  checkpoints: Checkpoint[];
  evaluations: Record<string, unknown>[];
  importance: { group: string; features: { name: string; drop: number }[] }[];
  config?: string;
  about?: {
    model?: string;
    started?: string;
    data_rows?: number;
    parameters?: number;
    memory?: Record<string, number>;
    tables?: TableLine[];
    features?: Feature[];
    graph?: Graph;
  };
  end?: { state?: string; ended?: string; steps?: number; rows?: number; code?: string; message?: string; not_finite?: boolean };
}

const EVERY = 3000;

/** Files are anybody's: what is no list is an empty one. */
function list<T>(v: T[] | undefined): T[] {
  return Array.isArray(v) ? v : [];
}

function End({ run }: { run: Training }) {
  const end = run.end;
  if (!end?.message) return null;
  return (
    <section class={end.not_finite ? "card why bad" : "card why"} role="alert">
      <h2>{end.not_finite ? t("train.nan") : t("train.failed")}</h2>
      <p><code>{plain(String(end.code ?? ""))}</code> {plain(String(end.message))}</p>
      {end.not_finite && <p class="dim">{t("train.nanHint")}</p>}
      <Command text={`trainyard explain ${String(end.code ?? "")}`} />
    </section>
  );
}

function Overview({ run }: { run: Training }) {
  const about = run.about;
  const last = run.evaluations.at(-1);
  const metrics = [...new Set(run.evaluations.flatMap((e) => Object.keys(e)))].filter((k) => k !== "global_step" && k !== "eval_data");
  return (
    <>
      <End run={run} />
      <section class="card">
        <h2>{t("job.overview")}</h2>
        <Facts rows={[
          [t("runs.model"), plain(String(about?.model ?? "")) || "–"],
          [t("job.started"), stamp(ms(about?.started))],
          [t("job.finished"), stamp(ms(run.end?.ended))],
          [t("train.steps"), number(run.end?.steps)],
          [t("train.rows"), about?.data_rows !== undefined && about.data_rows >= 0 ? number(about.data_rows) : "–"],
          [t("train.parameters"), number(about?.parameters)],
          [t("train.files"), `${number(run.files)}, ${bytes(run.bytes)}`],
          [t("runs.changed"), <Ago at={ms(run.changed)} />],
        ]} />
      </section>
      {last && (
        <section class="card">
          <h2>{t("train.evaluations")}</h2>
          <Table label={t("train.evaluations")} head={[t("runs.step"), ...metrics.map(plain)]}>
            {run.evaluations.slice(-100).reverse().map((e, i) => (
              <tr key={i}><td class="num">{value(e.global_step ?? "–")}</td>{metrics.map((k) => <td class="num" key={k}>{plain(value(e[k] ?? "–"))}</td>)}</tr>
            ))}
          </Table>
        </section>
      )}
    </>
  );
}

function Checkpoints({ run }: { run: Training }) {
  const best = [...run.checkpoints].reverse();
  return (
    <section class="card">
      <h2>{t("train.checkpoints")}</h2>
      {!best.length && <p class="dim">{t("train.noCheckpoints")}</p>}
      {best.length > 0 && (
        <Table label={t("train.checkpoints")} head={[t("runs.step"), t("job.size"), t("models.files"), t("train.age")]}>
          {best.map((c) => (
            <tr key={c.step}><td class="num">{number(c.step)}</td><td class="num">{bytes(c.bytes)}</td><td class="num">{c.files}</td><td class="num"><Ago at={ms(c.changed)} /></td></tr>
          ))}
        </Table>
      )}
    </section>
  );
}

/** "model.…embedding_bags.item_emb.weight": the part that people chose. */
function short(name: string): string {
  return name.replace(/\.weight$/, "").split(".").at(-1) ?? name;
}

function Features({ run }: { run: Training }) {
  const tables = list(run.about?.tables);
  const features = list(run.about?.features);
  const memory = run.about?.memory ?? {};
  const drops = new Map(run.importance.flatMap((g) => g.features.map((f): [string, number] => [f.name, f.drop])));
  const [by, setBy] = useState("");
  const rows = features.map((f) => ({ f, table: tables[f.table] }));
  if (by === "memory") rows.sort((a, b) => ((b.table?.weights ?? 0) + (b.table?.state ?? 0)) - ((a.table?.weights ?? 0) + (a.table?.state ?? 0)));
  if (by === "importance") rows.sort((a, b) => (drops.get(a.f.name) ?? 2) - (drops.get(b.f.name) ?? 2));
  if (!features.length) return <p class="dim">{t("train.noAbout")}</p>;
  return (
    <>
      <section class="card">
        <h2>{t("train.memory")}</h2>
        <Facts rows={Object.entries(memory).map(([k, v]) => [plain(k.replaceAll("_", " ")), bytes(Number(v))])} />
      </section>
      {run.importance.map((g) => (
        <section class="card" key={g.group}>
          <h2>{t("train.importance", { group: plain(g.group) })}</h2>
          <table class="bars"><tbody>
            {g.features.slice(0, 50).map((f) => (
              <tr key={f.name}><th scope="row">{plain(f.name)}</th><td><Bar share={1 - f.drop} /></td><td class="num">{number(1 - f.drop)}</td></tr>
            ))}
          </tbody></table>
        </section>
      ))}
      <section class="card">
        <h2>{t("train.features")}</h2>
        <div class="filters">
          <label>{t("train.sort")} <select value={by} onChange={(e) => setBy(e.currentTarget.value)}>
            <option value="">{t("train.asConfig")}</option><option value="memory">{t("usage.memory")}</option>{drops.size > 0 && <option value="importance">{t("exp.importance")}</option>}
          </select></label>
        </div>
        <Table label={t("train.features")} head={[t("common.name"), t("data.type"), t("train.width"), t("train.table"), t("train.tableRows"), t("train.dim"), t("train.bytes"), t("train.reach")]}>
          {rows.map(({ f, table }) => (
            <tr key={f.name}>
              <td>{plain(String(f.name))}</td>
              <td>{plain(String(f.kind))}{f.sequence && <span class="dim"> {t("train.sequence")}</span>}</td>
              <td class="num">{f.uses ? number(f.width) : t("train.unused")}</td>
              <td class="mono">{table ? plain(short(String(table.name))) : "–"}</td>
              <td class="num">{number(table?.rows)}</td>
              <td class="num">{number(table?.dim)}</td>
              <td class="num">{table ? bytes(table.weights + table.state) : "–"}</td>
              <td class="num">{table && table.rows ? `${number(table.rows_in_use)} (${((100 * table.rows_in_use) / table.rows).toFixed(0)} %)` : "–"}</td>
            </tr>
          ))}
        </Table>
      </section>
    </>
  );
}

function Bar({ share }: { share: number }) {
  return <svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect x="0" y="0" width={Math.max(0, Math.min(100, 100 * share))} height="10" /></svg>;
}

type Tab = "curves" | "overview" | "checkpoints" | "features" | "model" | "config";

function Part({ run, tab }: { run: Training; tab: Tab }) {
  const graph = useMemo(() => run.about?.graph, [JSON.stringify(run.about?.graph)]);
  switch (tab) {
    case "checkpoints":
      return <Checkpoints run={run} />;
    case "features":
      return <Features run={run} />;
    case "model":
      return graph ? <GraphPicture graph={graph} /> : <p class="dim">{t("train.noAbout")}</p>;
    case "config":
      return <section class="card">{run.config ? <Command text={run.config} /> : <p class="dim">–</p>}</section>;
    default:
      return <Overview run={run} />;
  }
}

const TABS = (): [Tab, string][] => [["overview", t("job.overview")], ["checkpoints", t("train.checkpoints")], ["features", t("train.features")], ["model", t("runs.model")], ["config", t("train.config")]];

export function RunPage({ id }: { id: string }) {
  const live = useLive<Training>((stop) => get(pathOf`/training/${id}`, stop), [id], (r) => (r.state === "Running" || !r.state ? EVERY : 0), "runs");
  const run = live.data;
  const tab = (route.value.query.get("tab") ?? "curves") as Tab;
  if (!run) return live.error ? <Failure error={live.error} /> : <Loading />;
  return (
    <Page title={plain(run.name)} sub={<>{run.state && <State of={run.state} />} <span class="dim"><Ago at={ms(run.changed)} /></span></>}>
      <Tabs label={plain(run.name)} now={tab} choose={(k) => go(["runs", id], { tab: k === "curves" ? undefined : k })} tabs={[["curves", t("job.metrics")], ...TABS()]} />
      {tab === "curves" ? <><End run={run} /><MetricsOf of={[{ id, name: run.name, live: run.state === "Running" }]} /></> : <Part run={run} tab={tab} />}
    </Page>
  );
}

export function JobTraining({ id, live: running }: { id: string; live: boolean }) {
  const live = useLive<Training>((stop) => get(pathOf`/jobs/${id}/training`, stop), [id, running], running ? EVERY : 0);
  const [tab, setTab] = useState<Tab>("overview");
  if (live.error?.status === 404) return <p class="dim">{t("train.none")}</p>;
  if (!live.data) return live.error ? <Failure error={live.error} /> : <Loading />;
  return (
    <>
      <div class="chips" role="group" aria-label={t("job.training")}>
        {TABS().map(([k, label]) => <button type="button" class="chip" key={k} aria-pressed={tab === k} onClick={() => setTab(k)}>{label}</button>)}
      </div>
      <Part run={live.data} tab={tab} />
    </>
  );
}
