// SPDX-License-Identifier: Apache-2.0
// Models: which are registered, one version with what its export says of itself (sample rows, parity), and
// model servers: their latency, a request by form, and whether they still score as the export did.
import { useState } from "preact/hooks";
import { ApiError, address, get, getText, may, pathOf, query, send } from "./api";
import { t } from "./i18n";
import { useLive } from "./live";
import { href, route } from "./router";
import { bytes, few, ms, number, plain, value } from "./format";
import { Ago, Empty, Facts, Failure, Field, Loading, Page, Table, useAction } from "./ui";
import { Bars } from "./plots";

interface Model {
  name: string;
  version: number;
  owner: string;
  project: string;
  job: string;
  channel: string;
  files: number;
  bytes: number;
  note: string;
  created: string;
}

interface ModelDetail extends Model {
  lineage: Record<string, unknown>;
  outputs: { channel: string; path: string; bytes: number; sha256: string }[];
}

interface Server {
  name: string;
  url: string;
}

function modelPath(name: string, version: number | string): string {
  return pathOf`/models/${name}/versions/${version}`;
}

function Servers() {
  const list = useLive<{ serving: Server[] }>((stop) => get("/serving", stop), [], 0);
  const all = list.data?.serving ?? [];
  return (
    <section class="card">
      <h2>{t("serve.title")}</h2>
      <Failure error={list.error} />
      {list.data && !all.length && <p class="dim">{t("serve.none")} <code>trainyard server --serving ctr=http://127.0.0.1:8500</code></p>}
      {all.length > 0 && (
        <Table label={t("serve.title")} head={[t("common.name"), t("serve.address")]}>
          {all.map((s) => <tr key={s.name}><td><a href={href(["serving", s.name])}>{plain(s.name)}</a></td><td class="mono">{plain(s.url)}</td></tr>)}
        </Table>
      )}
    </section>
  );
}

export function Models() {
  const list = useLive<{ models: Model[] }>((stop) => get("/models", stop), [], 5000, "records");
  const all = list.data?.models ?? [];
  return (
    <Page title={t("models.title")}>
      <Failure error={list.error} />
      {!list.data && !list.error && <Loading />}
      {list.data && !all.length && <Empty title={t("models.empty")} hint={t("models.emptyHint")} command="trainyard model register ctr --job jb-…" />}
      {all.length > 0 && (
        <Table label={t("models.title")} head={[t("common.name"), t("models.version"), t("models.files"), t("job.size"), t("models.from"), t("models.note"), t("common.owner"), t("common.created")]}>
          {all.map((m) => (
            <tr key={`${m.name}/${m.version}`}>
              <td><a href={href(["models", m.name, String(m.version)])}>{plain(m.name)}</a></td><td class="num">{m.version}</td><td class="num">{m.files}</td><td class="num">{bytes(m.bytes)}</td>
              <td><a class="mono" href={href(["jobs", m.job])}>{m.job}</a></td><td>{plain(m.note)}</td><td>{plain(m.owner)}</td><td class="num"><Ago at={ms(m.created)} /></td>
            </tr>
          ))}
        </Table>
      )}
      <div class="spaced"><Servers /></div>
    </Page>
  );
}

type Row = Record<string, unknown>;

function isMap(v: unknown): v is Row {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

/** Lines of JSON; what is none is left out: files are anybody's. */
function lines(text: string | undefined): Row[] {
  const out: Row[] = [];
  for (const line of (text ?? "").split("\n")) {
    if (!line.trim()) continue;
    try {
      const row: unknown = JSON.parse(line);
      if (isMap(row)) out.push(row);
    } catch {
      // no row
    }
  }
  return out;
}

const ROWS = 32;

/** Rows of data and, behind them, what a model makes of each. */
function Samples({ rows, outputs }: { rows: Row[]; outputs: Row[] }) {
  const columns = [...new Set(rows.flatMap((r) => Object.keys(r)))];
  const names = [...new Set(outputs.flatMap((r) => Object.keys(r)))];
  return (
    <Table label={t("models.samples")} head={[...names.map((k) => <>→ {plain(k)}</>), ...columns.map(plain)]}>
      {rows.slice(0, ROWS).map((r, i) => (
        <tr key={i}>
          {names.map((k) => <td class="num" key={`o${k}`}>{plain(value(outputs[i]?.[k] ?? "–"))}</td>)}
          {columns.map((k) => <td class="mono" key={`c${k}`}>{plain(value(r[k] ?? "–")).slice(0, 80)}</td>)}
        </tr>
      ))}
    </Table>
  );
}

interface ExportFiles {
  manifest: Row;
  rows: Row[];
  outputs: Row[];
  parity: Row | undefined;
}

const MOST = 4 << 20; // bytes of a file that the page reads

async function exportOf(m: ModelDetail, below: string): Promise<ExportFiles | undefined> {
  const text = async (name: string) => {
    const file = m.outputs.find((o) => o.path === below + name);
    if (!file || file.bytes > MOST) return undefined;
    return getText(`${modelPath(m.name, m.version)}/file${query({ path: file.path })}`);
  };
  const manifest = lines((await text("manifest.json"))?.replaceAll("\n", " "))[0];
  if (manifest?.format !== "trainyard-export") return undefined;
  return {
    manifest,
    rows: lines(await text("samples.jsonl")),
    outputs: lines(await text("samples.outputs.jsonl")),
    parity: lines((await text("parity.json"))?.replaceAll("\n", " "))[0],
  };
}

function ParityReport({ of }: { of: Row | undefined }) {
  const say = (k: string) => (typeof of?.[k] === "number" ? number(of[k] as number) : "–");
  return (
    <section class="card">
      <h2>{t("models.parity")}</h2>
      {!of && <p class="dim">{t("models.noParity")} <code>trainyard parity DIR ROWS --json &gt; DIR/parity.json</code></p>}
      {of && (
        <Facts rows={[
          [t("train.rows"), say("rows")],
          [t("models.sameFeatures"), say("features")],
          [t("models.outputs"), say("outputs")],
          [t("models.largest"), <>{say("largest")}{of.where ? <span class="dim"> ({plain(String(of.where))})</span> : null}</>],
          [t("models.tolerance"), say("tolerance")],
        ]} />
      )}
    </section>
  );
}

function Export({ m, below }: { m: ModelDetail; below: string }) {
  const live = useLive<{ is: ExportFiles | undefined }>(() => exportOf(m, below).then((is) => ({ is })), [m.name, m.version, below], 0);
  const x = live.data?.is;
  if (live.error) return <Failure error={live.error} />;
  if (!x) return null;
  const files = Array.isArray(x.manifest.files) ? x.manifest.files.length : undefined;
  const metrics = isMap(x.manifest.metrics) ? Object.entries(x.manifest.metrics) : [];
  return (
    <>
      <section class="card">
        <h2>{t("models.export")} {below && <span class="mono dim">{plain(below)}</span>}</h2>
        <Facts rows={[
          [t("runs.model"), plain(String(x.manifest.model ?? "–"))],
          [t("runs.step"), value(x.manifest.step ?? "–")],
          [t("models.checkpoint"), <span class="mono">{plain(String(x.manifest.checkpoint ?? "–"))}</span>],
          [t("models.tables"), plain(String(x.manifest.table_type ?? "–"))],
          ...(files === undefined ? [] : [[t("models.files"), number(files)] as [string, string]]),
          ...metrics.map(([k, v]): [string, string] => [plain(k), plain(value(v))]),
        ]} />
      </section>
      <ParityReport of={x.parity} />
      <section class="card">
        <h2>{t("models.samples")}</h2>
        {!x.rows.length && <p class="dim">{t("models.noSamples")}</p>}
        {x.rows.length > 0 && <Samples rows={x.rows} outputs={x.outputs} />}
      </section>
    </>
  );
}

export function ModelPage({ name, version }: { name: string; version: string }) {
  const live = useLive<ModelDetail>((stop) => get(modelPath(name, version), stop), [name, version], 0);
  const m = live.data;
  if (live.error) return <Failure error={live.error} />;
  if (!m) return <Loading />;
  const exports = m.outputs.filter((o) => /(^|\/)manifest\.json$/.test(o.path)).map((o) => o.path.slice(0, -"manifest.json".length));
  return (
    <Page title={`${plain(m.name)}:${m.version}`} sub={plain(m.note)}>
      <section class="card">
        <Facts rows={[
          [t("models.from"), <a class="mono" href={href(["jobs", m.job])}>{m.job}</a>],
          [t("job.channel"), plain(m.channel)],
          [t("common.owner"), plain(m.owner)],
          [t("common.project"), plain(m.project) || t("common.none")],
          [t("common.created"), <Ago at={ms(m.created)} />],
          [t("models.files"), `${number(m.files)}, ${bytes(m.bytes)}`],
        ]} />
      </section>
      {exports.slice(0, 10).map((below) => <Export m={m} below={below} key={below} />)}
      <section class="card">
        <h2>{t("models.files")}</h2>
        <Table label={t("models.files")} head={[t("job.path"), t("job.size"), t("job.sha")]}>
          {m.outputs.map((o) => (
            <tr key={`${o.channel}/${o.path}`}>
              <td><a href={address(`${modelPath(m.name, m.version)}/file${query({ path: o.path })}`)} download={o.path.split("/").at(-1)}>{plain(o.path)}</a></td>
              <td class="num">{bytes(o.bytes)}</td><td class="mono" title={o.sha256}>{o.sha256.slice(0, 16)}</td>
            </tr>
          ))}
        </Table>
      </section>
    </Page>
  );
}

interface Served {
  model: string;
  version: string;
  step: number;
  max_items: number;
  outputs: { name: string; width: number; per?: string }[];
  columns: { name: string; type: string }[];
}

interface Counters {
  by: Map<string, number>; // without labels, and by result
  below: [string, number][]; // of the histogram: limit and requests up to it
}

/** Prometheus' text, as far as `serve` writes it. */
export function countersOf(text: string): Counters {
  const out: Counters = { by: new Map(), below: [] };
  for (const line of text.split("\n")) {
    const m = /^(\w+)(?:\{(\w+)="([^"]*)"[^}]*\})? ([-+0-9.eE]+)$/.exec(line);
    if (!m) continue;
    const [, name = "", label, of = "", n] = m;
    if (label === "le") out.below.push([of, Number(n)]);
    else out.by.set(label === "result" ? `${name} ${of}` : name, Number(n));
  }
  return out;
}

function millis(limit: string): string {
  const s = Number(limit);
  return s >= 1 ? `${s} s` : `${Number((s * 1000).toPrecision(6))} ms`;
}

function Latency({ of }: { of: Counters }) {
  const bars = of.below.map(([limit, n], i) => {
    const label = limit === "+Inf" ? `> ${millis(of.below[i - 1]?.[0] ?? "0")}` : `≤ ${millis(limit)}`;
    return { label, value: n - (of.below[i - 1]?.[1] ?? 0) };
  });
  const total = of.by.get("trainyard_request_seconds_count") ?? 0;
  const result = (k: string) => number(of.by.get(`trainyard_requests_total ${k}`) ?? 0);
  return (
    <section class="card">
      <h2>{t("serve.latency")}</h2>
      <p>{t("serve.requests", { ok: result("ok"), refused: result("refused"), failed: result("failed"), busy: result("busy") })}</p>
      {total === 0 && <p class="dim">{t("serve.noRequests")}</p>}
      {total > 0 && <p>{t("serve.mean", { time: few(((of.by.get("trainyard_request_seconds_sum") ?? 0) / total) * 1000) })}</p>}
      {total > 0 && <Bars label={t("serve.latency")} rows={bars.filter((b) => b.value > 0).map((b) => ({ name: b.label, value: b.value, text: number(b.value) }))} />}
    </section>
  );
}

interface Scores {
  outputs: Record<string, unknown[]>;
  errors?: { item: number; code: string; message: string }[];
}

/** What a person writes in a field, as the type of its column wants it. */
function cell(text: string, type: string): unknown {
  if (text === "") return null;
  if (/^(u?int|float|double)/.test(type)) {
    const n = Number(text);
    return Number.isNaN(n) ? text : n; // the server says what is wrong with it
  }
  if (/^(list|map|struct)/.test(type)) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  }
  return type === "bool" ? text === "true" : text;
}

function shown(v: unknown): string {
  return v === null || v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v);
}

function parsed(text: string): { items?: Row[]; wrong?: string; all?: Row } {
  try {
    const all: unknown = JSON.parse(text);
    if (!isMap(all)) return { wrong: t("serve.noObject") };
    return { all, items: Array.isArray(all.items) ? all.items.filter(isMap) : [] };
  } catch (e) {
    return { wrong: t("common.noJson", { why: String(e) }) };
  }
}

/** The samples as the columns of a request: only those that the model reads. */
function itemOf(row: Row | undefined, columns: { name: string }[]): Row {
  return Object.fromEntries(columns.map((c) => [c.name, row?.[c.name] ?? null]));
}

function Try({ server, is, rows }: { server: string; is: Served; rows: Row[] }) {
  const [text, setText] = useState(() => JSON.stringify({ items: [itemOf(rows[0], is.columns)] }, null, 1));
  const [took, setTook] = useState(0);
  const [scores, setScores] = useState<Scores>();
  const { error, busy, act } = useAction();
  const now = parsed(text);
  const first = now.items?.[0];
  const set = (items: Row[]) => setText(JSON.stringify({ ...now.all, items }, null, 1));
  const change = (name: string, v: unknown) => set([{ ...first, [name]: v }, ...(now.items ?? []).slice(1)]);
  const submit = (e: Event) => {
    e.preventDefault();
    void act(async () => {
      setScores(undefined);
      const began = performance.now();
      const answer = await send<Scores>("POST", pathOf`/serving/${server}/score`, now.all);
      setTook(performance.now() - began);
      setScores(answer);
    });
  };
  const items = Math.max(0, ...Object.values(scores?.outputs ?? {}).map((v) => v.length));
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t("serve.try")}</h2>
      {rows.length > 0 && (
        <div class="filters">
          <label>{t("serve.sample")} <select onChange={(e) => set([itemOf(rows[Number(e.currentTarget.value)], is.columns)])}>
            {rows.slice(0, ROWS).map((_, i) => <option value={i} key={i}>{i}</option>)}
          </select></label>
        </div>
      )}
      {first && (
        <div class="grid">
          {is.columns.map((c) => (
            <Field label={plain(c.name)} hint={plain(c.type)} key={c.name}>
              <input name={`column-${c.name}`} value={shown(first[c.name])} onChange={(e) => change(c.name, cell(e.currentTarget.value, c.type))} />
            </Field>
          ))}
        </div>
      )}
      <Field label={t("serve.asJson")} hint={t("serve.jsonHint")} {...(now.wrong ? { error: now.wrong } : {})}>
        <textarea name="request" rows={8} spellcheck={false} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </Field>
      <Failure error={error} />
      <button class="primary" disabled={busy || Boolean(now.wrong)}>{t("serve.send")}</button>
      {scores && (
        <>
          <p role="status">{t("serve.answered", { n: items, time: number(Math.round(took * 10) / 10) })}</p>
          {(scores.errors ?? []).map((x) => <p class="failure" key={x.item}><code>{plain(x.code)}</code> {plain(x.message)}</p>)}
          <Table label={t("models.outputs")} head={[t("serve.item"), ...Object.keys(scores.outputs).map(plain)]}>
            {Array.from({ length: items }, (_, i) => (
              <tr key={i}><td class="num">{i}</td>{Object.entries(scores.outputs).map(([k, v]) => <td class="num" key={k}>{plain(value(v[i] ?? "–"))}</td>)}</tr>
            ))}
          </Table>
        </>
      )}
    </form>
  );
}

/** The largest difference between two results of the same shape, relative above 1; Infinity: of another shape. */
export function differ(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) / (1 + Math.abs(b));
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) return Math.max(0, ...a.map((x, i) => differ(x, b[i])));
  return (a ?? null) === null && (b ?? null) === null ? 0 : Infinity;
}

const NEAR = 1e-4; // as when an export is loaded: other processors add up in another order

function Check({ server, is, rows, outputs }: { server: string; is: Served; rows: Row[]; outputs: Row[] }) {
  const [found, setFound] = useState<{ name: string; most: number; row: number }[]>();
  const { error, busy, act } = useAction();
  const run = () => act(async () => {
    setFound(undefined);
    const scores = await send<Scores>("POST", pathOf`/serving/${server}/score`, { items: rows.map((r) => itemOf(r, is.columns)) });
    setFound(Object.entries(scores.outputs).map(([name, v]) => {
      const all = rows.map((_, i) => differ(v[i], outputs[i]?.[name]));
      const most = Math.max(0, ...all);
      return { name, most, row: all.indexOf(most) };
    }));
  });
  return (
    <section class="card">
      <h2>{t("serve.check")}</h2>
      <p class="dim">{t("serve.checkHint", { n: rows.length })}</p>
      {may("submitter") && <button type="button" disabled={busy} onClick={run}>{t("serve.compare")}</button>}
      <Failure error={error} />
      {found && (
        <>
          <p role="status">{found.every((f) => f.most <= NEAR) ? t("serve.same", { limit: NEAR }) : t("serve.differs", { limit: NEAR })}</p>
          <Table label={t("serve.check")} head={[t("models.outputs"), t("models.largest"), t("serve.item")]}>
            {found.map((f) => <tr key={f.name}><td>{plain(f.name)}</td><td class="num">{f.most === Infinity ? "∞" : number(f.most)}</td><td class="num">{f.row}</td></tr>)}
          </Table>
        </>
      )}
    </section>
  );
}

export function ServingPage({ name }: { name: string }) {
  const path = pathOf`/serving/${name}`;
  const is = useLive<Served>((stop) => get(path, stop), [path], 15000);
  const counters = useLive<Counters>(() => getText(`${path}/counters`).then(countersOf), [path], 3000);
  const samples = useLive<{ rows: Row[]; outputs: Row[] }>(
    (stop) => get<{ rows: Row[]; outputs: Row[] }>(`${path}/samples`, stop).catch((e: unknown) => {
      if (e instanceof ApiError && e.status === 404) return { rows: [], outputs: [] };
      throw e;
    }), [path, is.data?.version], 0);
  const s = is.data;
  return (
    <Page title={plain(name)} sub={<a href={href(["models"])}>{t("models.title")}</a>}>
      <Failure error={is.error} />
      {!s && !is.error && <Loading />}
      {s && (
        <section class="card">
          <Facts rows={[
            [t("runs.model"), plain(s.model)],
            [t("models.version"), <span class="mono">{plain(s.version)}</span>],
            [t("runs.step"), number(s.step)],
            [t("models.outputs"), s.outputs.map((o) => plain(o.name)).join(", ")],
            [t("serve.columns"), number(s.columns.length)],
          ]} />
        </section>
      )}
      {counters.data && <Latency of={counters.data} />}
      {s && samples.data && may("submitter") && <Try server={name} is={s} rows={samples.data.rows} key={s.version} />}
      {s && samples.data && samples.data.rows.length > 0 && <Check server={name} is={s} rows={samples.data.rows} outputs={samples.data.outputs} />}
      {samples.data && samples.data.rows.length > 0 && (
        <section class="card"><h2>{t("models.samples")}</h2><Samples rows={samples.data.rows} outputs={samples.data.outputs} /></section>
      )}
    </Page>
  );
}

/** The parts of an address below #/models. */
export function ModelsView() {
  const [, name, version] = route.value.parts;
  return name ? <ModelPage name={name} version={version ?? "latest"} key={`${name}/${version}`} /> : <Models />;
}
