// SPDX-License-Identifier: Apache-2.0
// run.mjs PROGRAM - how quick the console is with much to show, measured in the browser: 10,000
// jobs, 1,000 trials, 10^7 values of metrics, 200 open pages, of which TABS (40) are in the browser, each in a context of
// its own, and the others are their requests alone. QUICK=1: a tenth of it. Prints a table, writes bench/results/web.json (not with QUICK), exits 1 when something is too slow.
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
const many = { jobs: quick ? 1000 : 10000, trials: quick ? 100 : 1000, points: quick ? 1e6 : 1e7, pages: quick ? 20 : 200, tabs: Number(process.env.TABS ?? (quick ? 4 : 40)) };
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

/**
 * What a page changes is its elements and its canvases: notes when it last did either. The work of an
 * event may come late (an answer of the server, an effect behind the first frame), so the end is the first frame
 * behind the last change, and it is the last when three frames follow without any.
 */
const WATCH = `(() => {
  let changed = 0;
  const note = () => (changed = performance.now());
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  const canvas = CanvasRenderingContext2D.prototype;
  for (const name of ["clearRect", "stroke", "fill"]) {
    const own = canvas[name];
    canvas[name] = function (...a) { note(); return own.apply(this, a); };
  }
  const painted = () => new Promise((go) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => go(performance.now()); c.port2.postMessage(0); }));
  window.measured = async (cause) => {
    const began = performance.now();
    changed = 0;
    cause();
    for (let shown = 0, still = 0; performance.now() - began < 10000;) {
      const before = changed;
      const at = await painted();
      if (!changed) continue;
      if (changed !== before || !shown) { shown = at; still = 0; }
      else if (++still === 3) return shown - began;
    }
    throw new Error("nothing changed");
  };
})()`;

/** The same once, of what the server was not asked for before. */
async function cold(name, hash, selector) {
  await page.goto("about:blank");
  const began = performance.now();
  await page.goto(`${yard.url}/${hash}`);
  await page.locator(selector).first().waitFor();
  note(name, performance.now() - began, 1000);
}

/** From an event to the painted frame that shows all it changed, the middle of nine. */
async function interact(name, cause) {
  const times = [];
  await page.evaluate(`window.measured || ${WATCH}`);
  for (let i = 0; i < 9; i++) {
    times.push(await page.evaluate(`window.measured(() => { const i = ${i}; ${cause}; })`));
    await page.waitForTimeout(200);
  }
  note(name, times.sort((a, b) => a - b)[4], 100);
}

/** The same with the pointer: it is down on the axis of the result, and each move is one event. */
async function drag(name) {
  const times = [];
  const box = await page.locator("figure canvas").boundingBox();
  const x = box.x + box.width - 60;
  await page.evaluate(`window.measured || ${WATCH}`);
  await page.mouse.move(x, box.y + 40);
  await page.mouse.down();
  for (let i = 0; i < 9; i++) {
    const took = page.evaluate("window.measured(() => undefined)");
    await page.mouse.move(x, box.y + 80 + 20 * i);
    times.push(await took);
  }
  await page.mouse.up();
  note(name, times.sort((a, b) => a - b)[4], 100);
}

await load(`${many.jobs} jobs`, "#/jobs", "tbody tr");
await interact(`${many.jobs} jobs: choose a state`, `document.querySelectorAll(".chip")[i % 2].click()`);
await load(`a job with ${METRICS * EACH} values, of ${many.points}`, `#/jobs/${ids[0]}?tab=metrics`, ".plot canvas");
await cold(`a job with ${METRICS * EACH} values that nobody has asked for`, `#/jobs/${ids[1]}?tab=metrics`, ".plot canvas");
await interact("curves: smoothing", `const r = document.querySelector("input[type=range]"); r.value = 0.1 * (i + 1); r.dispatchEvent(new Event("input", { bubbles: true }))`);
await load(`${many.trials} trials`, `#/experiments/${experiment}`, "section.card tbody tr");
await load(`${many.trials} trials: parallel coordinates`, `#/experiments/${experiment}?tab=parallel`, "figure canvas");
await interact("parallel coordinates: a brush moves by key", `const r = document.querySelectorAll("fieldset input")[0]; r.value = 0.05 * (i + 1); r.dispatchEvent(new Event("input", { bubbles: true }))`);
await drag("parallel coordinates: a brush is dragged");

console.error(`${many.pages} pages, ${many.tabs} of them in the browser ...`);
const cookies = await context.cookies();
const cookie = cookies.map((c) => `${c.name}=${c.value}`).join("; ");
const count = { asked: 0, failed: 0, told: 0 };
const stop = new AbortController();

/** What a page with the list of jobs does, without the page: one stream, and lists again when it tells of a change. */
async function follow() {
  const get = async (path) => {
    const r = await fetch(`${yard.url}/api/v1${path}`, { headers: { Cookie: cookie }, signal: stop.signal });
    count.asked++;
    if (!r.ok) count.failed++;
    return r;
  };
  let known = "";
  let wait = 0;
  while (!stop.signal.aborted) {
    try {
      const r = await get("/changes?follow=true");
      for await (const part of r.body.pipeThrough(new TextDecoderStream()))
        for (const [, data] of part.matchAll(/^data: (.*)$/gm)) {
          const jobs = JSON.parse(data).jobs;
          if (jobs === undefined || jobs === known) continue;
          known = jobs;
          count.told++;
          await Promise.all(["/jobs?limit=100", "/counts"].map((path) => get(path).then((x) => x.arrayBuffer())));
        }
    } catch {
      if (stop.signal.aborted) return;
      count.failed++;
      await new Promise((go) => setTimeout(go, (wait = Math.min(5000, wait * 2 || 500))));
    }
  }
}

/** A page of its own context: browsers share connections among the pages of one. */
async function tab() {
  const own = await browser.newContext({ viewport: { width: 1360, height: 850 } });
  await own.addCookies(cookies);
  const p = await own.newPage();
  p.setDefaultTimeout(120000);
  await p.goto(`${yard.url}/#/jobs`);
  await p.locator("tbody tr").first().waitFor();
  return p;
}

const others = Array.from({ length: many.pages - many.tabs }, follow);
const tabs = [];
while (tabs.length < many.tabs) tabs.push(await tab());
await until("all of them", () => count.told >= others.length, 120);
await load(`beside ${many.pages} open lists of jobs`, "#/jobs", "tbody tr");
const before = { ...count };
const began = performance.now();
await yard.submit({ name: "told-to-all", command: "true" });
for (const p of tabs) await p.locator("tbody tr", { hasText: "told-to-all" }).waitFor();
await until("those without a browser", () => count.told >= before.told + others.length, 120);
note(`${many.pages} open lists: all show a new job`, performance.now() - began, 10000);
stop.abort();
await Promise.all(others);
results.push({ case: `${many.pages} open pages, ${many.tabs} in the browser: requests that failed`, ours: count.failed, unit: "", bar: "0", verdict: count.failed ? "short" : "ok" });
await browser.close();
await yard.remove();

for (const r of results) console.log(`${r.case.padEnd(58)} ${String(r.ours).padStart(8)} ${r.unit.padEnd(3)} ${r.bar.padStart(7)}  ${r.verdict}`);
if (!quick)
  writeFileSync(join(root, "bench/results/web.json"), JSON.stringify({
    bench: "web", machine: { cores: cpus().length, kernel: release(), load: loadavg()[0], node: process.versions.node }, results,
  }, null, 1) + "\n");
process.exit(results.some((r) => r.verdict !== "ok") ? 1 : 0);
