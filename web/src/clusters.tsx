// SPDX-License-Identifier: Apache-2.0
// Where jobs run: what this machine gives, what jobs of each machine and backend take, and which
// nodes of clusters their workers are on.
import { get } from "./api";
import { t } from "./i18n";
import { useLive } from "./live";
import { href } from "./router";
import { bytes, cores, number, plain } from "./format";
import { Failure, Loading, Page, Table } from "./ui";

interface Need {
  cpu_milli: number;
  memory: number;
  gpu: number;
}

interface Use extends Need {
  machine: string;
  backend: string;
  waiting: number;
  running: number;
  workers: number;
}

interface Clusters {
  here: string;
  capacity?: Need;
  /** Of that, by everyone's jobs. */
  taken?: Need;
  use: Use[];
  nodes: { backend: string; node: string; workers: number; jobs: string[] }[];
  more: boolean;
}

/** "4 of 8", with a bar; of a machine that does not say what it has only what is taken. */
function Part({ label, taken, of, say }: { label: string; taken: number; of: number; say: (n: number) => string }) {
  return (
    <div class="progress">
      <span>{label}</span>
      <progress max={Math.max(1, of)} value={Math.min(taken, of)} aria-label={label} />
      <span>{t("cluster.of", { taken: say(taken), total: say(of) })}</span>
    </div>
  );
}

function Here({ c }: { c: Clusters }) {
  if (!c.capacity || !c.taken) return <p class="dim">{t("cluster.noCapacity")}</p>;
  return (
    <>
      <p class="dim">{t("cluster.everyone")}</p>
      <Part label={t("usage.cpus")} taken={c.taken.cpu_milli} of={c.capacity.cpu_milli} say={cores} />
      <Part label={t("job.memory")} taken={c.taken.memory} of={c.capacity.memory} say={bytes} />
      {c.capacity.gpu > 0 && <Part label={t("job.gpu")} taken={c.taken.gpu} of={c.capacity.gpu} say={number} />}
    </>
  );
}

const SHOWN = 20;

export function ClustersPage() {
  const live = useLive<Clusters>((stop) => get("/clusters", stop), [], 5000, "jobs");
  const c = live.data;
  return (
    <Page title={t("cluster.title")} sub={t("cluster.hint")}>
      <Failure error={live.error} />
      {!c && !live.error && <Loading />}
      {c && (
        <>
          <section class="card">
            <h2>{t("cluster.here")} <span class="mono dim">{plain(c.here)}</span></h2>
            <Here c={c} />
          </section>
          <section class="card">
            <h2>{t("cluster.use")}</h2>
            {!c.use.length && <p class="dim">{t("cluster.idle")}</p>}
            {c.use.length > 0 && (
              <Table label={t("cluster.use")} head={[t("cluster.machine"), t("jobs.backend"), t("usage.running"), t("cluster.waiting"), t("jobs.workers"), t("usage.cpus"), t("job.memory"), t("job.gpu")]}>
                {c.use.map((u) => (
                  <tr key={`${u.machine} ${u.backend}`}>
                    <td class="mono">{plain(u.machine) || "–"}</td><td>{plain(u.backend) || "–"}</td><td class="num">{number(u.running)}</td><td class="num">{number(u.waiting)}</td>
                    <td class="num">{number(u.workers)}</td><td class="num">{cores(u.cpu_milli)}</td><td class="num">{bytes(u.memory)}</td><td class="num">{number(u.gpu)}</td>
                  </tr>
                ))}
              </Table>
            )}
          </section>
          <section class="card">
            <h2>{t("cluster.nodes")}</h2>
            {!c.nodes.length && <p class="dim">{t("cluster.noNodes")}</p>}
            {c.nodes.length > 0 && (
              <Table label={t("cluster.nodes")} head={[t("job.node"), t("jobs.backend"), t("jobs.workers"), t("jobs.title")]}>
                {c.nodes.map((n) => (
                  <tr key={`${n.backend} ${n.node}`}>
                    <td class="mono">{plain(n.node)}</td><td>{plain(n.backend)}</td><td class="num">{number(n.workers)}</td>
                    <td>{n.jobs.slice(0, SHOWN).map((id) => <a class="mono pair" href={href(["jobs", id])} key={id}>{id}</a>)}{n.jobs.length > SHOWN && `+${n.jobs.length - SHOWN}`}</td>
                  </tr>
                ))}
              </Table>
            )}
          </section>
          {c.more && <p class="dim">{t("cluster.more")}</p>}
        </>
      )}
    </Page>
  );
}
