// SPDX-License-Identifier: Apache-2.0
// run.mjs PROGRAM - how quick the console is with much to show, measured in the browser: 10,000
// jobs, 1,000 trials, 10^7 values of metrics, 200 open pages. QUICK=1: a tenth of it. Prints a
// table, writes bench/results/web.json (not with QUICK), exits 1 when something is too slow.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { chromium } = createRequire(join(root, "web/package.json"))("playwright-core");
const { Yard, until } = await import(join(root, "web/test/server.mjs"));
const program = resolve(process.argv[2]); // the server has a directory of its own
const quick = Boolean(process.env.QUICK);
const many = { jobs: quick ? 1000 : 10000, trials: quick ? 100 : 1000, points: quick ? 1e6 : 1e7, pages: quick ? 20 : 200 };
const METRICS = 10;
const EACH = 10000; // values of one metric of one job

const yard = new Yard(program);
process.on("exit", () => yard.child?.kill());
yard.flags = ["--no-queue", "--rate", "0"];
await yard.start();
console.error(`${many.jobs} jobs ...`);
const ids = [];
await Promise.all(Array.from({ length: 8 }, async () => {
  while (ids.length < many.jobs) {
    const n = ids.push("");
    ids[n - 1] = (await yard.submit({ name: `job-${n}`, command: "true" })).id;
  }
}));
console.error(`${many.trials} trials ...`);
const experiment = await yard.experiment(many.trials, 16);
console.error(`${many.points} values ...`);
await yard.stop();
execFileSync("python3", ["-c", `
import random, sqlite3, sys
path, ids, names, each = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), int(sys.argv[4])
db = sqlite3.connect(path)
db.execute("PRAGMA journal_mode = WAL")
for job in ids:
    with db:
        db.executemany("INSERT INTO metrics (job, name, attempt, worker, place, time, step, value) VALUES (?, ?, 1, 0, ?, ?, ?, ?)",
            ((job, f"metric{k}", i * names + k, i * 1000000000, i, random.random()) for i in range(each) for k in range(names)))
db.close()
`, join(yard.dir, "yard/jobs.db"), ids.slice(0, many.points / METRICS / EACH).join(","), String(METRICS), String(EACH)]);
await yard.start();

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1360, height: 850 } });
const page = await context.newPage();
page.setDefaultTimeout(120000);
await page.goto(yard.url);
await page.locator("input[type=password]").fill(yard.token);
await page.keyboard.press("Enter");
await page.locator("tbody tr").first().waitFor();

const results = [];
function note(name, ms, bar) {
  results.push({ case: name, ours: Number(ms.toFixed(1)), unit: "ms", bar: `< ${bar}`, verdict: ms < bar ? "ok" : "short" });
}

/** The best of three loads of a view, from nothing until `selector` is there. */
async function load(name, hash, selector) {
  let best = Infinity;
  for (let i = 0; i < 3; i++) {
    await page.goto("about:blank");
    const began = performance.now();
    await page.goto(`${yard.url}/${hash}`);
    await page.locator(selector).first().waitFor();
    best = Math.min(best, performance.now() - began);
  }
  note(`${name}: first view`, best, 1000);
}

/** From an event to the frame that follows its work, the middle of nine. */
async function interact(name, cause) {
  const times = [];
  for (let i = 0; i < 9; i++)
    times.push(await page.evaluate(`(async (i) => {
      const began = performance.now();
      ${cause};
      await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
      return performance.now() - began;
    })(${i})`));
  note(`${name}`, times.sort((a, b) => a - b)[4], 100);
}

await load(`${many.jobs} jobs`, "#/jobs", "tbody tr");
await interact(`${many.jobs} jobs: choose a state`, `document.querySelectorAll(".chip")[i % 2].click()`);
await load(`a job with ${METRICS * EACH} values, of ${many.points}`, `#/jobs/${ids[0]}?tab=metrics`, ".plot canvas");
await interact("curves: smoothing", `const r = document.querySelector("input[type=range]"); r.value = 0.1 * (i + 1); r.dispatchEvent(new Event("input", { bubbles: true }))`);
await load(`${many.trials} trials`, `#/experiments/${experiment}`, "section.card tbody tr");
await load(`${many.trials} trials: parallel coordinates`, `#/experiments/${experiment}?tab=parallel`, "figure canvas");
await interact("parallel coordinates: a brush moves", `const r = document.querySelectorAll("fieldset input")[0]; r.value = 0.05 * (i + 1); r.dispatchEvent(new Event("input", { bubbles: true }))`);

console.error(`${many.pages} pages ...`);
const cookie = (await context.cookies()).map((c) => `${c.name}=${c.value}`).join("; ");
let asked = 0;
let failed = 0;
let going = true;
const others = Array.from({ length: many.pages }, async () => {
  while (going) {
    for (const path of ["/jobs?limit=100", "/counts"]) {
      const r = await fetch(`${yard.url}/api/v1${path}`, { headers: { Cookie: cookie } }).catch(() => null);
      asked++;
      if (!r?.ok) failed++;
      await r?.arrayBuffer();
    }
    await new Promise((go) => setTimeout(go, 2000));
  }
});
await until("all of them", () => asked >= many.pages * 4, 120);
await load(`beside ${many.pages} open lists of jobs`, "#/jobs", "tbody tr");
going = false;
await Promise.all(others);
results.push({ case: `${many.pages} open pages: requests that failed`, ours: failed, unit: "", bar: "0", verdict: failed ? "short" : "ok" });
await browser.close();
await yard.remove();

for (const r of results) console.log(`${r.case.padEnd(58)} ${String(r.ours).padStart(8)} ${r.unit.padEnd(3)} ${r.bar.padStart(7)}  ${r.verdict}`);
if (!quick)
  writeFileSync(join(root, "bench/results/web.json"), JSON.stringify({
    bench: "web", machine: { cores: cpus().length, kernel: release(), load: loadavg()[0], node: process.versions.node }, results,
  }, null, 1) + "\n");
process.exit(results.some((r) => r.verdict !== "ok") ? 1 : 0);
