// SPDX-License-Identifier: Apache-2.0
// run.mjs PROGRAM [--shots DIR] [PART] - the tasks of a person at the console, in a real browser
// against a real server with real jobs. PART: only tasks whose name holds it. --shots keeps a
// picture of each view. TAP on stdout.
import { chromium } from "playwright-core";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import assert from "node:assert/strict";
import { provider } from "./provider.mjs";
import { Yard, until } from "./server.mjs";

const words = process.argv.slice(2);
const program = resolve(words.shift()); // the server has a directory of its own
const at = words.indexOf("--shots");
const shots = at < 0 ? "" : words.splice(at, 2)[1];
const wanted = words[0] ?? "";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

const HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";
const LOSS = `for i in $(seq 1 60); do awk -v i=$i 'BEGIN{srand(i+SEED); printf "\\033[32mINFO\\033[0m step %d\\n::trainyard progress=%d step=%d loss=%.4f auc=%.4f lr=%.5f\\n", i*100, i/60*100, i*100, 0.7*exp(-i/30)+rand()*0.04+0.3, 0.8-0.3*exp(-i/20)+rand()*0.01, 0.01*exp(-i/40)}'; done`;

const yard = new Yard(program);
process.on("exit", () => [yard.child, yard.serving].forEach((c) => c?.kill())); // also when something below throws
const trained = await yard.train("two", { sets: ["train_config.dense_optimizer.adam_optimizer.lr=0.05"] });
const exported = await yard.serve("ctr", trained);
await yard.start();
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1360, height: 850 }, locale: "en-US" });
await context.grantPermissions(["clipboard-read", "clipboard-write"]);
const page = await context.newPage();
page.setDefaultTimeout(30000);
const trouble = [];
page.on("pageerror", (e) => trouble.push(`script: ${e.message}`));
page.on("request", (r) => {
  if (!r.url().startsWith(yard.url) && !r.url().startsWith("data:") && !r.url().startsWith("blob:")) trouble.push(`asked another host: ${r.url()}`);
});
page.on("console", (m) => {
  if (m.type() === "error" && /Content Security Policy|TrustedHTML/.test(m.text())) trouble.push(m.text());
});

const jobs = {
  fm: await yard.submit({ name: "deepfm-criteo", command: `${LOSS.replaceAll("SEED", "1")}; echo weights > /ml/output/model/weights.bin`, output: { model: "" } }),
  dcn: await yard.submit({ name: "dcn-criteo", env: { LR: "0.1" }, command: LOSS.replaceAll("SEED", "99") }),
  bad: await yard.submit({ name: "bad-config", command: "printf '\\033[31mERROR\\033[0m cannot open clicks.csv\\n' >&2; exit 3" }),
  hostile: await yard.submit({
    name: "hostile", env: { MARKUP: HOSTILE },
    command: `printf '%s\\n' "$MARKUP"; printf 'ctl\\001\\002\\033]0;x\\007\\033[2Jend\\n'; head -c 10000000 /dev/zero | tr '\\0' w; echo; printf '::trainyard step=1 <b>loss</b>=1\\n'; echo last`,
  }),
  long: await yard.submit({ name: "long-log", command: "seq 1 1000000 | sed 's/.*/line & of the log/'" }),
};
const config = await yard.train("one", { select: true });
await yard.train("nan", { bad: true });
mkdirSync(join(yard.dir, "runs", HOSTILE.replaceAll("/", "")));
writeFileSync(join(yard.dir, "runs", HOSTILE.replaceAll("/", ""), "run.json"), JSON.stringify({ model: HOSTILE, features: [{ name: HOSTILE, table: 0 }], tables: HOSTILE, graph: { inputs: [{ id: 0, name: HOSTILE }], ops: [], outputs: [], losses: [] } }));
writeFileSync(join(yard.dir, "runs", HOSTILE.replaceAll("/", ""), "run_end.json"), JSON.stringify({ state: HOSTILE, code: HOSTILE, message: HOSTILE, not_finite: true }));
symlinkSync("/etc/passwd", join(yard.dir, "runs/one/pipeline.link"));
jobs.trains = await yard.submit({ name: "trains", command: `${program} train ${config} --model-dir /ml/output/model/run --set train_config.num_epochs=1`, output: { model: "" } });
jobs.exports = await yard.submit({
  name: "exports", output: { model: "" },
  command: `cp -r ${exported} /ml/output/model/x && ${program} parity /ml/output/model/x ${join(yard.dir, "two.csv")} --json > parity.json && mv parity.json /ml/output/model/x/`,
});
jobs.trial = await yard.submit({ name: "one-of-many-trials", command: "echo ::trainyard loss=1", labels: { experiment: "tried" } });
const experiment = await yard.experiment(20);
const two = await yard.twoObjectives();
for (const j of Object.values(jobs)) await yard.ended(j.id, 120);
await yard.ask("POST", "/datasets", { name: "clicks", path: "/usr/share" });
await yard.ask("POST", "/schedules", { name: "nightly", cron: "0 2 * * *", job: { command: "true", name: "nightly" } });
await yard.ask("POST", "/models", { name: "ctr", job: jobs.fm.id, channel: "model" });
await yard.ask("POST", "/models", { name: "exported", job: jobs.exports.id, channel: "model" });

const open = async (hash) => {
  await page.goto(`${yard.url}/${hash}`);
};
const see = (text) => page.getByText(text, { exact: false }).first().waitFor();
const row = (text) => page.locator("tbody tr", { hasText: text }).first();
const count = (selector) => page.locator(selector).count();

/** Nothing that WCAG AA forbids, in both themes. */
async function accessible(name) {
  await page.evaluate(`if (!window.axe) { ${"" /* evaluated outside the page's policy */}${axe} }`);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  const list = found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}`);
  assert.deepEqual(list, [], `axe, ${name}`);
}

async function view(name) {
  if (shots) await page.screenshot({ path: join(shots, `console-${name}.png`) });
  await accessible(name);
}

const tasks = {
  async log_in_by_token() {
    await open("");
    await page.locator("input[type=password]").fill("ty_wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await see("E5008");
    await accessible("login");
    await page.locator("input[type=password]").fill(yard.token);
    await page.keyboard.press("Enter");
    await row("deepfm-criteo").waitFor();
    const stored = await page.evaluate(() => JSON.stringify(localStorage) + document.cookie + location.href);
    assert.ok(!stored.includes("ty_"), "scripts can see a token");
  },
  async see_what_runs() {
    await open("#/jobs");
    await row("bad-config").getByText("Failed").waitFor();
    await row("deepfm-criteo").getByText("Succeeded").waitFor();
    await view("jobs");
  },
  async filter_by_state_in_the_address() {
    await open("#/jobs");
    await page.getByRole("button", { name: /^Failed/ }).click();
    await until("the filter", async () => (await count("tbody tr")) === 1);
    assert.match(page.url(), /state=Failed/);
    await page.reload();
    await row("bad-config").waitFor();
    assert.equal(await count("tbody tr"), 1);
  },
  async search_by_name() {
    await open("#/jobs");
    await page.getByLabel("Search by name").fill("criteo");
    await until("the search", async () => (await count("tbody tr")) === 2);
    await page.getByLabel("Search by name").fill("no such job");
    await see("No job matches these filters.");
  },
  async a_new_job_appears_by_itself() {
    await open("#/jobs");
    await row("deepfm-criteo").waitFor();
    await yard.submit({ name: "appears", command: "true" });
    await row("appears").waitFor();
  },
  async see_why_a_job_failed() {
    await open("#/jobs");
    await row("bad-config").getByRole("link").click();
    await see("exit status 3");
    await see("WorkerExited");
    await view("job");
  },
  async read_the_log_with_colours() {
    await open(`#/jobs/${jobs.bad.id}`);
    await page.getByRole("tab", { name: "Logs" }).click();
    await page.locator(".row .f1", { hasText: "ERROR" }).waitFor();
    await see("The log is complete.");
  },
  async search_a_long_log() {
    await open(`#/jobs/${jobs.long.id}?tab=logs`);
    await page.locator(".row", { hasText: "line 1000000 of the log" }).waitFor();
    assert.ok((await count(".row")) < 200, "lines that are not in view are in the page");
    await page.getByRole("button", { name: "Load the whole log" }).click();
    await page.locator("[data-lines='1000000']").waitFor();
    await page.getByLabel("Search the log").fill("line 765432 of");
    await see("1 matches");
    await page.locator(".row.hit", { hasText: "line 765432 of the log" }).waitFor();
    await view("logs");
  },
  async read_a_log_that_ends_with_a_long_line() {
    const j = await yard.submit({ name: "long-line", command: "seq 1 9; head -c 10000000 /dev/zero | tr '\\0' w; echo; sleep 0.2; head -c 3000000 /dev/zero | tr '\\0' x" });
    await yard.ended(j.id);
    await open(`#/jobs/${j.id}?tab=logs`);
    await page.locator(".row", { hasText: "the beginning of this line is not loaded" }).waitFor();
    await page.locator(".row", { hasText: /xxxx.*more characters/ }).waitFor();
    await see("The log is complete.");
    await page.getByRole("button", { name: "Load the whole log" }).click();
    await page.locator("[data-lines='11']").waitFor();
    await page.locator(".row", { hasText: /^wwww.*… 9996000 more characters$/ }).waitFor();
    await page.locator(".row", { hasText: /^xxxx.*… 2996000 more characters$/ }).waitFor();
    await page.locator(".row", { hasText: /^9$/ }).waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
    assert.equal(readFileSync(await file.path()).length, 13000019);
    await accessible("a long line");
  },
  async follow_a_log_through_a_restart_of_the_server() {
    const j = await yard.submit({ name: "ticks", command: "for i in $(seq 1 40); do echo tick $i; sleep 0.2; done" });
    await open(`#/jobs/${j.id}?tab=logs`);
    await page.locator(".row", { hasText: /^tick 3$/ }).waitFor();
    await yard.stop("SIGKILL");
    await see("The server does not answer.");
    await yard.start();
    await page.locator(".row", { hasText: /^tick 40$/ }).waitFor();
    await see("The log is complete.");
    await page.locator(".log-pane").evaluate((p) => (p.scrollTop = 0));
    await page.locator(".row", { hasText: /^tick 1$/ }).waitFor();
    const lines = (await page.locator(".row").allTextContents()).filter((l) => l.startsWith("tick"));
    assert.deepEqual(lines, Array.from({ length: lines.length }, (_, i) => `tick ${i + 1}`), "a line is lost or doubled");
    assert.equal(await page.locator("[data-lines]").getAttribute("data-lines"), "40");
    assert.equal(await page.getByText("The server does not answer.").count(), 0);
  },
  async many_tabs_of_one_browser_stay_live() {
    const j = await yard.submit({ name: "many-watch", command: "for i in $(seq 1 1000); do echo beat $i; sleep 0.2; done" });
    const own = await browser.newContext();
    const tabs = [];
    try {
      await own.addCookies(await context.cookies());
      for (let i = 0; i < 12; i++) {
        tabs.push(await own.newPage());
        tabs[i].setDefaultTimeout(15000);
        await tabs[i].goto(`${yard.url}/#/jobs${i % 2 ? `/${j.id}?tab=logs` : ""}`);
        await tabs[i].locator(i % 2 ? ".row" : "tbody tr").first().waitFor();
      }
      const logs = tabs.filter((_, i) => i % 2);
      const last = async (p) => Number(/beat (\d+)$/.exec(await p.locator(".row").last().textContent())[1]);
      const before = Math.max(...(await Promise.all(logs.map(last))));
      for (const p of logs) await until("later lines", async () => (await last(p)) > before + 5);
      await yard.submit({ name: "told-to-tabs", command: "true" });
      for (const p of tabs.filter((_, i) => i % 2 === 0)) await p.locator("tbody tr", { hasText: "told-to-tabs" }).waitFor();
      await tabs[0].close(); // the one that told the others
      await yard.submit({ name: "told-by-another", command: "true" });
      for (const p of tabs.filter((_, i) => i && i % 2 === 0)) await p.locator("tbody tr", { hasText: "told-by-another" }).waitFor();
      const lines = await logs.at(-1).locator(".row").allTextContents();
      const first = Number(/\d+/.exec(lines[0])[0]);
      assert.deepEqual(lines, lines.map((_, i) => `beat ${first + i}`), "a line is lost or doubled");
    } finally {
      await own.close();
      await yard.ask("POST", `/jobs/${j.id}/stop`, { force: true });
    }
  },
  async follow_a_log_through_a_lost_network() {
    const j = await yard.submit({ name: "walks", command: "for i in $(seq 1 40); do echo step $i; sleep 0.1; done" });
    await open(`#/jobs/${j.id}?tab=logs`);
    await page.locator(".row", { hasText: /^step 3$/ }).waitFor();
    await context.setOffline(true);
    await see("The server does not answer.");
    await yard.ended(j.id);
    await context.setOffline(false);
    await page.locator(".row", { hasText: /^step 40$/ }).waitFor();
    await see("The log is complete.");
    await until("the page to know", async () => (await page.getByText("The server does not answer.").count()) === 0);
    assert.equal(await page.locator("[data-lines]").getAttribute("data-lines"), "40", "a line is lost or doubled");
    await page.locator(".log-pane").evaluate((p) => (p.scrollTop = 0));
    await page.locator(".row", { hasText: /^step 1$/ }).waitFor();
    const lines = await page.locator(".row").allTextContents();
    assert.deepEqual(lines, Array.from({ length: lines.length }, (_, i) => `step ${i + 1}`));
  },
  async look_at_metrics() {
    await open(`#/jobs/${jobs.fm.id}?tab=metrics`);
    await page.locator(".chart", { hasText: "loss" }).locator("canvas").waitFor();
    await page.getByRole("button", { name: "As a table" }).first().click();
    await page.locator(".chart table").waitFor();
    await page.getByRole("button", { name: "As a chart" }).click();
    await view("metrics");
  },
  async see_outputs_with_checksums() {
    await open(`#/jobs/${jobs.fm.id}?tab=files`);
    await row("weights.bin").getByText(/^[0-9a-f]{16}$/).waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), row("weights.bin").getByRole("link").click()]);
    assert.equal(readFileSync(await download.path(), "utf8"), "weights\n");
  },
  async generate_a_script() {
    await open(`#/jobs/${jobs.dcn.id}`);
    await page.getByRole("button", { name: "Generate script" }).click();
    await page.locator("pre", { hasText: "trainyard job submit" }).first().waitFor();
    await see("--env=LR=0.1");
  },
  async create_a_job_and_see_its_command_line() {
    await open("#/jobs/new");
    await page.locator("[name=command]").fill("echo 'made in the console'");
    await page.locator("[name=name]").fill("by-form");
    await page.locator("[name=memory]").fill("lots");
    await page.locator("pre", { hasText: "--name=by-form" }).waitFor();
    await page.getByRole("button", { name: "Submit" }).click();
    await page.locator(".field.wrong", { has: page.locator("[name=memory]") }).waitFor();
    await view("new");
    await page.locator("[name=memory]").fill("64Mi");
    const line = await page.locator(".form pre").textContent();
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByRole("heading", { name: "by-form" }).waitFor();
    const id = /jobs\/(jb-\w+)/.exec(page.url())[1];
    const job = await yard.ended(id);
    assert.equal(job.state, "Succeeded");
    assert.equal(job.spec.memory, "64Mi");
    assert.match(line, /--memory=64Mi/);
  },
  async stop_a_job_and_run_it_again() {
    const j = await yard.submit({ name: "endless", command: "while sleep 0.2; do :; done" });
    await open(`#/jobs/${j.id}`);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "OK" }).click();
    await page.locator(".page-head .state", { hasText: "Stopped" }).waitFor();
    await page.getByRole("button", { name: "Run again" }).click();
    await until("the new job", () => !page.url().includes(j.id));
    const id = /jobs\/(jb-\w+)/.exec(page.url())[1];
    await yard.ask("POST", `/jobs/${id}/stop`, {});
  },
  async compare_two_runs() {
    await open("#/runs");
    await page.getByLabel("Choose the run deepfm-criteo").check();
    await page.getByLabel("Choose the run dcn-criteo").check();
    await page.locator(".chart", { hasText: "loss" }).locator(".u-legend", { hasText: "dcn-criteo" }).waitFor();
    await row("env.LR").getByText("0.1").waitFor();
    await page.getByLabel("Smoothing").fill("0.6");
    await page.locator(".u-legend", { hasText: "(raw)" }).first().waitFor();
    await page.getByLabel("Logarithmic").check();
    const lists = await page.locator(".chooser").boundingBox();
    assert.ok(lists.height < 420, "the lists push the curves out of view");
    await page.getByLabel("Smoothing").evaluate((e) => scrollTo(0, e.getBoundingClientRect().top - 30));
    await view("runs");
  },
  async see_runs_of_a_directory() {
    await open("#/runs");
    await page.locator("tbody tr", { has: page.getByRole("link", { name: "one", exact: true }) }).getByText("multi_tower").waitFor();
    await row("nan").getByText("Failed").waitFor();
    await page.getByRole("link", { name: "one", exact: true }).click();
    for (const name of ["loss/total", "lr/g0", "samples_per_second", "wait_percent", "global_gradient_norm", "eval_val/metric/auc"])
      await page.locator(".chart", { hasText: name }).locator("canvas").first().waitFor();
    await view("run");
    await page.getByRole("tab", { name: "Checkpoints" }).click();
    await until("checkpoints with size and age", async () => /^44.*KiB.*ago$/.test(await page.locator("tbody tr").first().textContent()));
    await accessible("checkpoints");
    await page.getByRole("tab", { name: "Overview" }).click();
    await page.locator("tbody tr").first().waitFor();
    await accessible("run overview");
  },
  async see_features_tables_and_importance() {
    await open("#/runs");
    await page.getByRole("link", { name: "one", exact: true }).click();
    await page.getByRole("tab", { name: "Features" }).click();
    await row("a_emb").getByText("id_feature").waitFor();
    await row("a_emb").getByText("8 (100 %)").waitFor();
    assert.equal(await count("table.bars th"), 5);
    await view("features");
  },
  async see_the_model_as_a_picture() {
    await open("#/runs");
    await page.getByRole("link", { name: "one", exact: true }).click();
    await page.getByRole("tab", { name: "Model" }).click();
    await page.locator(".graph .box.layer", { hasText: "towers.all" }).waitFor();
    await page.locator(".graph .box.loss", { hasText: "binary_cross_entropy" }).waitFor();
    assert.ok((await count(".graph .edge")) >= 5);
    await view("model");
    await page.getByRole("button", { name: "As a table" }).click();
    await row("final_mlp").getByText("towers.all").waitFor();
  },
  async see_why_the_loss_was_no_number() {
    await open("#/runs");
    await page.getByRole("link", { name: "nan", exact: true }).click();
    await see("The loss was not a number");
    await see("E1404");
    await see("price");
    await accessible("nan");
  },
  async trials_are_not_among_the_runs_unless_asked_for() {
    await open("#/runs");
    await row("deepfm-criteo").waitFor();
    assert.equal(await page.locator("tbody tr", { hasText: "one-of-many-trials" }).count(), 0);
    await page.getByLabel("Trials of experiments").check();
    await row("one-of-many-trials").waitFor();
    assert.match(page.url(), /trials=yes/);
    await open("#/jobs");
    await row("one-of-many-trials").waitFor();
    await page.getByLabel("Trials of experiments").uncheck();
    await until("no trial", async () => (await page.locator("tbody tr", { hasText: "one-of-many-trials" }).count()) === 0);
    await row("deepfm-criteo").waitFor();
  },
  async a_zoom_stays_while_values_come() {
    const j = await yard.submit({ name: "slow", command: "for i in $(seq 1 300); do echo ::trainyard step=$i loss=0.$i; sleep 0.05; done" });
    await open(`#/jobs/${j.id}?tab=metrics`);
    const plot = page.locator(".chart", { hasText: "loss" }).locator(".plot");
    const range = async () => (await plot.getAttribute("data-range"))?.split(" ").map(Number) ?? [0, 0];
    await until("some values", async () => (await range())[1] > 20);
    const first = await range();
    await until("more of them, in the same plot", async () => (await range())[1] > first[1]);
    const box = await plot.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 50, { steps: 5 });
    await page.mouse.up();
    const zoomed = await until("a zoom", async () => ((await range())[0] > 2 ? range() : undefined));
    const told = await page.locator(".chart .sr").first().textContent();
    await until("newer values", async () => (await page.locator(".chart .sr").first().textContent()) !== told);
    await page.waitForTimeout(100);
    assert.deepEqual(await range(), zoomed, "the zoom is gone");
    await page.mouse.dblclick(box.x + box.width * 0.5, box.y + 50);
    await until("all of it", async () => (await range())[0] <= 1);
    await yard.ask("POST", `/jobs/${j.id}/stop`, { force: true });
  },
  async compare_runs_of_directories() {
    await open("#/runs");
    await page.getByLabel("Choose the run one").check();
    await page.getByLabel("Choose the run two").check();
    await page.locator(".chart", { hasText: "loss/total" }).locator(".u-legend", { hasText: "two" }).waitFor();
    await row("train_config.dense_optimizer.adam_optimizer.lr").getByText("0.05").waitFor();
  },
  async see_the_training_run_of_a_job() {
    await yard.ended(jobs.trains.id);
    await open(`#/jobs/${jobs.trains.id}?tab=training`);
    await page.getByRole("button", { name: "Checkpoints" }).click();
    await row("KiB").waitFor();
    await accessible("training of a job");
    await open(`#/jobs/${jobs.bad.id}?tab=training`);
    await see("hold no training run");
  },
  async a_hostile_run_is_text() {
    await open("#/runs");
    await page.getByRole("link", { name: HOSTILE.replaceAll("/", "").slice(0, 12), exact: false }).first().click();
    for (const tab of ["Overview", "Features", "Model", "Config"]) await page.getByRole("tab", { name: tab }).click();
    assert.notEqual(await page.title(), "owned");
    assert.equal(await count("main img, main script"), 0);
    const files = await yard.ask("GET", "/training");
    const one = await yard.ask("GET", `/training/${files.runs.find((r) => r.name === "one").id}`);
    assert.ok(!JSON.stringify(one).includes("root:"), "a link was followed");
  },
  async a_list_that_does_not_change_is_not_asked_for() {
    await open("#/jobs");
    await row("deepfm-criteo").waitFor();
    let asked = 0;
    const note = (r) => (asked += /api\/v1\/(jobs|counts)/.test(r.url()) ? 1 : 0);
    page.on("request", note);
    await until("a quiet moment", async () => { // what the tests before began may go on for a while
      asked = 0;
      await page.waitForTimeout(1500);
      return asked === 0;
    });
    const ages = () => page.locator("tbody time").allTextContents();
    await page.waitForTimeout(4000);
    assert.equal(asked, 0, "the page polls");
    await yard.submit({ name: "told-to-a-list", command: "true" });
    await row("told-to-a-list").getByText("Succeeded").waitFor();
    page.off("request", note);
    assert.ok(asked > 0);
    await page.waitForTimeout(1500); // what that led to
    const before = await ages();
    asked = 0;
    page.on("request", note);
    await page.waitForTimeout(2500);
    page.off("request", note);
    assert.equal(asked, 0);
    assert.notDeepEqual(await ages(), before, "ages stand still while nothing changes");
  },
  async see_the_best_trials() {
    await open("#/experiments");
    await row("ctr-search").getByRole("link").click();
    await page.getByRole("heading", { name: "Best trials" }).waitFor();
    await until("ten rows", async () => (await count("section.card tbody tr")) === 10);
    await view("experiment");
  },
  async change_limits_and_the_search_space() {
    await open(`#/experiments/${experiment}`);
    await page.getByLabel("Trials in all").fill("25");
    await page.getByRole("button", { name: "Save" }).first().click();
    await see("Saved");
    await page.reload();
    const space = page.getByLabel("Search space");
    await space.waitFor();
    assert.deepEqual(JSON.parse(await space.inputValue()).units, { _type: "choice", _value: [64, 128, 256] });
    await space.fill("{");
    await page.getByRole("button", { name: "Save" }).last().click();
    await see("SyntaxError");
    await space.fill('{"lr": {"_type": "uniform", "_value": [0, 1]}}');
    await page.getByRole("button", { name: "Save" }).last().click();
    await see("Saved");
  },
  async a_trial_that_failed_is_marked_among_the_best() {
    const name = await yard.failing();
    await open(`#/experiments/${name}`);
    await row("2").getByText("failed").waitFor();
    await page.getByRole("button", { name: "中文" }).click();
    await row("2").getByText("失败").waitFor();
    await page.locator(".page-head .state", { hasText: "已完成" }).waitFor();
    await page.getByRole("button", { name: "English" }).click();
  },
  async titles_name_what_is_shown() {
    const title = (text) => until(`the title ${text}`, async () => (await page.title()) === `${text} · Trainyard`);
    await open("#/jobs");
    await title("Jobs");
    await open(`#/jobs/${jobs.bad.id}`);
    await title("bad-config");
    await open(`#/jobs/${jobs.dcn.id}`);
    await title("dcn-criteo");
    await open(`#/experiments/${experiment}`);
    await title("ctr-search");
    await open("#/nowhere");
    await title("Not found");
    await open("#/models/ctr/1");
    await title("ctr:1");
  },
  async a_question_ends_with_its_page() {
    await open("#/datasets");
    await page.getByRole("button", { name: "Delete clicks" }).click();
    await page.getByRole("button", { name: "OK" }).waitFor();
    await page.goBack();
    await until("no question", async () => (await count("dialog[open]")) === 0);
    await open("#/datasets");
    await row("clicks").waitFor();
  },
  async see_a_pareto_front() {
    await open("#/experiments");
    await row("two-objectives").getByText("auc 6").waitFor(); // the best of the first objective
    await row("two-objectives").getByRole("link", { name: "6 in the Pareto front" }).click();
    await page.locator("figure canvas").waitFor();
    await open(`#/experiments/${two}`);
    await page.getByRole("columnheader", { name: "ms", exact: true }).waitFor(); // the best trials by both
    await open(`#/experiments/${two}?tab=intermediate`);
    await see("Each trial has reported one result");
    await page.getByRole("tab", { name: "Pareto front" }).click();
    await page.locator("figure canvas").waitFor();
    await until("the front", async () => (await count("tbody tr")) === 6);
    await accessible("pareto");
    await open(`#/experiments/${experiment}`);
    await page.getByRole("tab", { name: "History" }).waitFor();
    assert.equal(await page.getByRole("tab", { name: "Pareto front" }).count(), 0);
  },
  async trials_are_asked_for_once_and_stay() {
    await open("#/jobs");
    await row("deepfm-criteo").waitFor();
    let asked = 0;
    const note = (r) => (asked += /\/trials\?/.test(r.url()) ? 1 : 0);
    page.on("request", note);
    await open(`#/experiments/${experiment}?tab=parallel`);
    await page.locator("figure canvas").waitFor();
    const canvas = await page.locator("figure canvas").elementHandle();
    await page.waitForTimeout(700);
    page.off("request", note);
    assert.equal(asked, 1);
    assert.ok(await canvas.evaluate((c) => c.isConnected), "the picture was made again");
  },
  async sort_and_search_trials() {
    await open(`#/experiments/${experiment}?tab=table`);
    await until("twenty rows", async () => (await count("tbody tr")) === 20);
    await page.getByRole("button", { name: /^Result/ }).click();
    const values = await page.locator("tbody tr td:nth-child(4)").allTextContents();
    assert.deepEqual(values.map(Number), [...values.map(Number)].sort((a, b) => b - a));
    await page.getByRole("searchbox").fill("units=64");
    await until("a filter", async () => (await count("tbody tr")) < 20);
    await view("trials");
  },
  async brush_parallel_coordinates() {
    await open(`#/experiments/${experiment}?tab=parallel`);
    await see("20 of 20 trials");
    const box = await page.locator("figure canvas").boundingBox();
    const x = box.x + box.width - 60; // the axis of the result
    await page.mouse.move(x, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(x, box.y + 120, { steps: 4 });
    await page.mouse.up();
    await until("a choice", async () => /^(\d+) of 20/.exec(await page.locator("main [role=status]").last().textContent())?.[1] < 20);
    await view("parallel");
  },
  async see_history_slices_importance_and_durations() {
    for (const tab of ["history", "slices", "contour", "intermediate", "durations"]) {
      await open(`#/experiments/${experiment}?tab=${tab}`);
      await page.locator("main canvas, main .bars").first().waitFor();
      await accessible(tab);
    }
    await open(`#/experiments/${experiment}?tab=importance`);
    const names = await until("bars", async () => (await count(".bars th")) === 3 && page.locator(".bars th").allTextContents());
    assert.deepEqual([...names].sort(), ["dropout", "lr", "units"]);
    await view("importance");
  },
  async see_models_datasets_schedules_and_usage() {
    await open("#/models");
    await row("ctr").waitFor();
    await accessible("models");
    await open("#/datasets");
    await row("clicks").waitFor();
    await accessible("datasets");
    await open("#/schedules");
    const nightly = await yard.ask("GET", "/schedules/nightly");
    const first = new Date(nightly.next).getDate(); // not a time of the day that was over when it was made
    await page.locator(".month").waitFor();
    assert.equal(await count(".month .plan"), first === 1 ? 0 : new Date(new Date().getFullYear(), new Date().getMonth() + 1, 0).getDate() - first + 1);
    await page.getByRole("button", { name: "Earlier" }).click(); // nightly was not there yet
    await page.locator(".month > div", { hasText: /^28$/ }).waitFor();
    assert.equal(await count(".month .plan"), 0, "a plan before the schedule was made");
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByRole("button", { name: "Later" }).click(); // nightly: every day of the month
    await until("a plan on every day", async () => (await count(".month .plan")) >= 28 && (await page.locator(".month .plan").first().textContent()) === "02:00 nightly");
    await accessible("calendar");
    await page.getByRole("button", { name: "Pause" }).click();
    await until("no plan while paused", async () => (await count(".month .plan")) === 0);
    await row("nightly").getByText("paused").waitFor();
    await accessible("schedules");
    await open("#/usage");
    await row("admin").waitFor();
    await accessible("usage");
  },
  async see_a_version_of_a_model_with_samples_and_parity() {
    await open("#/models");
    await row("exported").getByRole("link", { name: "exported" }).click();
    await see("multi_tower");
    await page.locator(".card", { hasText: "Parity with training" }).getByText("1,500").waitFor();
    await until("sample rows", async () => (await page.getByRole("region", { name: /Sample rows/ }).locator("tbody tr").count()) === 32);
    await page.getByRole("columnheader", { name: "→ probs" }).waitFor();
    await view("model-version");
    const [download] = await Promise.all([page.waitForEvent("download"), row("pipeline.config").getByRole("link").click()]);
    assert.match(readFileSync(await download.path(), "utf8"), /multi_tower/);
    await open("#/models/ctr/1"); // outputs that are no export
    await row("weights.bin").waitFor();
    assert.equal(await page.getByText("Parity with training").count(), 0);
    await accessible("model version");
  },
  async name_the_outputs_of_a_job() {
    await open(`#/jobs/${jobs.fm.id}?tab=files`);
    await page.locator("[name=model]").fill("named here");
    await page.getByRole("button", { name: "Register" }).click();
    await see("E5006"); // no name
    await page.locator("[name=model]").fill("named");
    await page.locator("[name=note]").fill(HOSTILE);
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByRole("heading", { name: "named:1" }).waitFor();
    await row("weights.bin").waitFor();
    assert.equal((await yard.ask("GET", "/models/named/versions/1")).job, jobs.fm.id);
    await open(`#/jobs/${jobs.bad.id}?tab=files`);
    await see("No output files yet.");
    assert.equal(await page.getByText("Give these outputs a name").count(), 0);
  },
  async create_and_delete_a_dataset() {
    await open("#/datasets");
    await page.locator("[name=name]").fill("from-the-page");
    await page.locator("[name=path]").fill("/usr/lib");
    await page.locator("[name=mount]").fill("nowhere");
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator(".field.wrong", { has: page.locator("[name=mount]") }).waitFor();
    await accessible("a dataset that is wrong");
    await page.locator("[name=mount]").fill("/mnt/here");
    await page.getByRole("button", { name: "Create" }).click();
    await row("from-the-page").getByText("/mnt/here").waitFor();
    await page.getByRole("button", { name: "Delete from-the-page" }).click();
    await page.getByRole("button", { name: "OK" }).click();
    await until("its end", async () => (await page.locator("tbody tr", { hasText: "from-the-page" }).count()) === 0);
  },
  async try_a_request_against_a_model_server() {
    await open("#/models");
    await page.getByRole("region", { name: "Model servers" }).getByRole("link", { name: "ctr" }).click();
    await see("No request yet.");
    await page.locator("[name=column-a]").fill("3");
    await page.keyboard.press("Tab");
    const sent = JSON.parse(await page.locator("[name=request]").inputValue());
    assert.equal(sent.items[0].a, 3);
    await page.getByRole("button", { name: "Send" }).click();
    await see("1 items scored in");
    const said = Number(await page.getByRole("region", { name: "Outputs" }).locator("tbody td").nth(Object.keys((await yard.ask("POST", "/serving/ctr/score", sent)).outputs).indexOf("probs") + 1).textContent());
    const scored = await yard.ask("POST", "/serving/ctr/score", sent);
    assert.ok(Math.abs(said - scored.outputs.probs[0]) < 1e-5, `${said} is not what the model server says`);
    await page.getByRole("button", { name: "Compare" }).click();
    await see("The same, within 0.0001.");
    await until("a histogram", async () => (await count("table.bars th")) > 0);
    await page.locator("p", { hasText: /^[1-9]\d* answered, 0 refused/ }).waitFor();
    await page.evaluate(() => scrollTo(0, 0));
    await view("serving");
    await page.locator("[name=request]").fill('{"items": [{"a": "many"}]}');
    await page.getByRole("button", { name: "Send" }).click();
    await see("E2101");
    await page.locator("[name=request]").fill("{");
    await see("SyntaxError");
    assert.ok(!(await page.content()).includes("a-token-of-the-model-server"));
    const other = await fetch(`${yard.url}/api/v1/serving/none`, { headers: { Authorization: `Bearer ${yard.token}` } });
    assert.equal(other.status, 404);
  },
  async a_model_server_that_is_away_is_said_to_be() {
    const gone = new Yard(program);
    gone.flags = ["--serving", "gone=http://127.0.0.1:9"];
    const other = await browser.newContext();
    try {
      await gone.start();
      const p = await other.newPage();
      await p.goto(await gone.command("ui", "--dir", "yard", "--no-open"));
      await p.locator(".user").waitFor();
      await p.goto(`${gone.url}/#/serving/gone`);
      await p.locator("main [role=alert]", { hasText: "E5041" }).waitFor();
      assert.equal(await p.getByText("Loading").count(), 0);
    } finally {
      await other.close();
      await gone.remove();
    }
  },
  async see_where_jobs_run() {
    const j = await yard.submit({ name: "takes-room", cpu: "2", memory: "1Gi", command: "while sleep 0.2; do :; done" });
    await open("#/clusters");
    await row("local").waitFor();
    await until("two of eight processors", async () => /^2 of 8$/m.test(await page.locator(".progress").first().locator("span").last().textContent()));
    await page.locator(".progress", { hasText: "1.0 GiB of 64.0 GiB" }).waitFor();
    await view("clusters");
    await yard.ask("POST", `/jobs/${j.id}/stop`, { force: true });
    await see("No job waits or runs.");
  },
  async quotas_are_in_words() {
    await yard.ask("PUT", "/users/admin/quota", { cpu_milli: 4500, memory: 8 * 2 ** 30 });
    await open("#/usage");
    const quotas = page.getByRole("region", { name: "Quotas" });
    await quotas.getByText("8.0 GiB").waitFor();
    const cells = await quotas.locator("tbody tr").first().locator("td").allTextContents();
    assert.deepEqual(cells, ["admin", "4.5", "8.0 GiB", "no limit", "no limit", "100"]);
    await view("usage");
    await yard.ask("DELETE", "/users/admin/quota");
  },
  async what_empty_pages_advise_works() {
    const fresh = new Yard(program);
    const other = await browser.newContext();
    try {
      await fresh.start();
      const p = await other.newPage();
      await p.goto(await fresh.command("ui", "--dir", "yard", "--no-open"));
      await p.locator(".user").waitFor();
      mkdirSync(join(fresh.dir, "data"));
      const env = { ...fresh.env, TRAINYARD_SERVER: fresh.url, TRAINYARD_TOKEN: fresh.token };
      for (const [section, words] of Object.entries({ datasets: 5, schedules: 8, jobs: 6 })) {
        await p.goto(`${fresh.url}/#/${section}`);
        const line = (await p.locator(".empty pre").textContent()).replace("/data/clicks", join(fresh.dir, "data"));
        const argv = [...line.matchAll(/'([^']*)'|(\S+)/g)].map((m) => m[1] ?? m[2]);
        assert.equal(argv.shift(), "trainyard");
        assert.ok(argv.length >= words - 1, line);
        await promisify(execFile)(program, argv, { env, cwd: fresh.dir });
        await p.locator("tbody tr").first().waitFor(); // it is there now
      }
    } finally {
      await other.close();
      await fresh.remove();
    }
  },
  async a_long_address_is_refused_in_our_words() {
    const r = await fetch(`${yard.url}/api/v1/jobs?name=${"x".repeat(60000)}`, { headers: { Authorization: `Bearer ${yard.token}` } });
    assert.equal(r.status, 414);
    const body = await r.json();
    assert.equal(body.code, "E5003");
    assert.match(body.message, /8192 bytes/);
  },
  async hostile_data_is_text() {
    await open(`#/jobs/${jobs.hostile.id}?tab=logs`);
    await page.getByRole("button", { name: "Load the whole log" }).click();
    await page.locator(".row", { hasText: "onerror" }).waitFor();
    await page.locator(".row", { hasText: "ctl␁␂end" }).waitFor();
    await page.locator(".row .cut").waitFor();
    await page.locator(".row", { hasText: /^last$/ }).waitFor();
    await open(`#/jobs/${jobs.hostile.id}?tab=spec`);
    await see("onerror");
    await open(`#/jobs/${jobs.hostile.id}?tab=metrics`);
    await page.locator(".chart, .empty").first().waitFor();
    await open(`#/jobs?name=${encodeURIComponent(HOSTILE)}&state=${encodeURIComponent(HOSTILE)}`);
    await see("E5006");
    assert.notEqual(await page.title(), "owned");
    assert.equal(await count("main img, main script"), 0);
  },
  async a_metric_is_found_among_many() {
    const j = await yard.submit({ name: `long-${"x".repeat(200)}`, command: "for i in $(seq 250); do echo ::trainyard step=1 m$i=$i; done; echo ::trainyard step=2 m7=9" });
    await yard.ended(j.id);
    await open(`#/jobs/${j.id}?tab=metrics`);
    await see("There are more metrics than the 200 shown");
    await page.getByLabel("Search metrics by name").fill("m24");
    await until("some of them", async () => (await count(".chart")) < 20);
    const late = (await yard.ask("GET", `/jobs/${j.id}/series`)).series.map((s) => s.name);
    const name = Array.from({ length: 250 }, (_, i) => `m${i + 1}`).find((m) => !late.includes(m));
    await page.getByLabel("Search metrics by name").fill(name);
    await see("No metric has this name.");
    await page.keyboard.press("Enter");
    await page.locator(".chart", { hasText: name }).locator("canvas").waitFor();
    assert.equal(await count(".chart"), 1);
    await accessible("a metric among many");
    await open("#/jobs?name=long-x");
    await row("long-x").waitFor();
    const [table, state] = [await page.locator(".table").first().boundingBox(), await row("long-x").locator(".state").boundingBox()];
    assert.ok(state.x + state.width < table.x + table.width, "a long name pushes the others out");
  },
  async an_answer_of_other_types_breaks_one_view_alone() {
    await page.route("**/api/v1/serving/ctr", (route) => route.fulfill({ json: { model: { a: 1 }, version: [1], step: "x", outputs: 5, columns: null } }));
    await open("#/serving/ctr");
    await page.locator("main [role=alert]").waitFor();
    await page.unroute("**/api/v1/serving/ctr");
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await row("deepfm-criteo").waitFor();
  },
  async an_address_leads_no_request_elsewhere() {
    const forged = await yard.submit({
      name: "forger", output: { model: "" },
      command: `echo '{"id": "../users/vi2", "name": "forged", "state": "Succeeded", "spec": {}, "status": {}, "workers": 1}' > /ml/output/model/f.json`,
    });
    await yard.ended(forged.id);
    const asked = [];
    const note = (r) => asked.push(new URL(r.url()).pathname);
    page.on("request", note);
    const bad = ["..%2f..%2fsession", "..", ".%09.", "%2e%2e", "..%5c..", `${forged.id}%2Foutputs%2Fmodel%3Fpath%3Df.json`];
    for (const hash of bad.flatMap((b) => [`#/jobs/${b}`, `#/runs/${b}`, `#/experiments/${b}`, `#/models/${b}/${b}`, `#/serving/${b}`, `#/runs?jobs=${b}`])) {
      await open(hash);
      await page.locator("main [role=alert]").first().waitFor();
      assert.equal(await page.getByText("forged").count(), 0, hash);
    }
    await open(`#/jobs/${jobs.bad.id}?tab=logs&worker=..%2F..%2Fx`);
    await page.locator("main [role=alert]").first().waitFor();
    page.off("request", note);
    const allowed = /^\/api\/v1\/(changes|counts|(jobs|training|experiments|serving)\/[^/]+(\/(logs(\/[^/]+)?|trials|samples|counters|settings))?|jobs|training|models\/[^/]+\/versions\/[^/]+)$/;
    assert.deepEqual(asked.filter((path) => path.startsWith("/api") && !allowed.test(path)), []);
  },
  async many_runs_are_asked_for_once() {
    let asked = 0;
    const note = (r) => (asked += r.url().includes("/series") ? 1 : 0);
    page.on("request", note);
    await open(`#/runs?jobs=${Array(200).fill(jobs.fm.id).join(",")}`);
    await page.locator(".chart canvas").first().waitFor();
    page.off("request", note);
    assert.equal(asked, 1);
  },
  async chinese_and_dark() {
    await open("#/jobs");
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("heading", { name: "任务" }).waitFor();
    await page.getByRole("button", { name: "切换深色与浅色" }).click();
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    await view("dark");
    await open(`#/jobs/${jobs.bad.id}`);
    await page.locator(".timeline li").first().waitFor();
    await accessible("dark job");
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("button", { name: "Switch between dark and light" }).click();
  },
  async a_small_screen_shows_the_page() {
    await page.setViewportSize({ width: 375, height: 700 });
    await open("#/jobs");
    await row("deepfm-criteo").waitFor();
    const [side, body] = [await page.locator("nav.side").boundingBox(), await page.evaluate(() => document.documentElement.scrollWidth)];
    assert.ok(side.height < 140, `the menu is ${side.height} pixels high`);
    assert.ok(body <= 375, "the page is wider than the screen");
    await accessible("a small screen");
    await page.setViewportSize({ width: 1360, height: 850 });
  },
  async work_by_keyboard() {
    await open("#/jobs");
    await page.reload();
    await row("deepfm-criteo").waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await open(`#/jobs/${jobs.fm.id}`);
    await page.getByRole("tab", { name: "Overview" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".log-pane").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-logs");
  },
  async what_is_not_ones_own_has_no_button() {
    const own = new Yard(program);
    const other = await browser.newContext();
    try {
      own.env.TRAINYARD_SLOTS = "cpu=4,memory=8g";
      await own.start();
      await own.ask("POST", "/users", { name: "sue", role: "submitter" });
      const { token } = await own.ask("POST", "/users/sue/tokens", {});
      await own.ask("POST", "/datasets", { name: "of-admin", path: "/usr/share" });
      await own.ask("POST", "/schedules", { name: "of-admin", cron: "* * * * *", job: { command: "true" } });
      const j = await own.submit({ name: "takes-room", cpu: "3", command: "while sleep 0.2; do :; done" });
      const p = await other.newPage();
      await p.goto(own.url);
      await p.locator("input[type=password]").fill(token);
      await p.keyboard.press("Enter");
      await p.locator(".user", { hasText: "sue" }).waitFor();
      await p.goto(`${own.url}/#/clusters`); // others' jobs take room, too
      await p.locator(".progress", { hasText: "3 of 4" }).waitFor();
      assert.equal(await p.getByText(j.id).count(), 0);
      await p.goto(`${own.url}/#/datasets`);
      await p.locator("tbody tr", { hasText: "of-admin" }).waitFor();
      assert.equal(await p.getByRole("button", { name: "Delete of-admin" }).count(), 0);
      assert.deepEqual(await p.locator("[name=type] option").allTextContents(), ["s3", "oss", "odps"]);
      await p.locator("[name=name]").fill("of-sue");
      await p.locator("[name=path]").fill("s3://bucket/data");
      await p.getByRole("button", { name: "Create" }).click();
      await p.getByRole("button", { name: "Delete of-sue" }).waitFor();
    } finally {
      await other.close();
      await own.remove();
    }
  },
  async viewers_see_no_buttons_that_change() {
    await yard.ask("POST", "/users", { name: "vi", role: "viewer" }).catch(() => undefined); // it may be refused: no isolation
    const made = await yard.ask("POST", "/users/admin/tokens", { role: "viewer" });
    const other = await browser.newContext();
    const p = await other.newPage();
    await p.goto(yard.url);
    await p.locator("input[type=password]").fill(made.token);
    await p.keyboard.press("Enter");
    await p.locator("tbody tr").first().waitFor();
    assert.equal(await p.getByText("New job").count(), 0);
    await p.goto(`${yard.url}/#/jobs/${jobs.fm.id}`);
    await p.getByRole("button", { name: "Generate script" }).waitFor();
    assert.equal(await p.getByRole("button", { name: "Run again" }).count(), 0);
    await p.goto(`${yard.url}/#/jobs/new`);
    await p.getByText("needs the role submitter").waitFor();
    assert.equal(await p.locator("form").count(), 0);
    await p.goto(`${yard.url}/#/experiments/${experiment}`);
    assert.ok(await p.getByLabel("Trials in all").isDisabled());
    await other.close();
  },
  async open_by_a_link_once() {
    const link = await yard.command("ui", "--dir", "yard", "--no-open");
    const other = await browser.newContext();
    const p = await other.newPage();
    await p.goto(link);
    await p.locator("tbody tr").first().waitFor();
    assert.ok(!p.url().includes("link="), "the link stays in the address");
    const third = await browser.newContext();
    const q = await third.newPage();
    await q.goto(link);
    await q.getByText("This link was used already").waitFor();
    await other.close();
    await third.close();
  },
  async log_in_through_a_provider() {
    const openid = await provider("console");
    const second = new Yard(program);
    second.flags = ["--oidc-issuer", openid.issuer, "--oidc-client-id", "console", "--oidc-role", "viewer"];
    const other = await browser.newContext();
    try {
      await second.start();
      const p = await other.newPage();
      await p.goto(second.url);
      await p.getByRole("button", { name: "Log in at 127.0.0.1" }).click();
      await p.locator(".user", { hasText: "ann" }).waitFor();
      assert.ok(!p.url().includes("code="), "the code stays in the address");
      await p.getByRole("button", { name: "Log out" }).click();
      await p.evaluate(() => sessionStorage.setItem("trainyard.login", JSON.stringify({ state: "a", nonce: "b", verifier: "c" })));
      await p.goto(`${second.url}/#code=stolen&state=other`); // not what this page asked for
      await p.reload();
      await p.getByText("did not succeed here").waitFor();
    } finally {
      await other.close();
      await second.remove();
      openid.close();
    }
  },
  async log_out() {
    await open("#/jobs");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.locator("input[type=password]").waitFor();
    await page.reload();
    await page.locator("input[type=password]").waitFor();
  },
};

let failed = 0;
let n = 0;
const chosen = Object.entries(tasks).filter(([name]) => name === "log_in_by_token" || name.includes(wanted));
console.log(`1..${chosen.length}`);
for (const [name, task] of chosen) {
  n++;
  trouble.length = 0;
  try {
    await task();
    assert.deepEqual(trouble, []);
    console.log(`ok ${n} - ${name}`);
  } catch (e) {
    failed++;
    console.log(`not ok ${n} - ${name}`);
    console.log(String(e.stack ?? e).split("\n").slice(0, 12).map((l) => `# ${l}`).join("\n"));
    if (process.env.KEEP) await page.screenshot({ path: join(process.env.KEEP, `failed-${name}.png`) }).catch(() => undefined);
  }
}
await browser.close();
await yard.remove();
process.exit(failed ? 1 : 0);
