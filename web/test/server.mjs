// SPDX-License-Identifier: Apache-2.0
// A server with jobs, an experiment and hostile data, in a directory of its own.
import { spawn, execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, openSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Until `ask` gives something; what it waited for is in the error. */
export async function until(what, ask, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  let last;
  while (Date.now() < end) {
    try {
      const got = await ask();
      if (got) return got;
    } catch (e) {
      last = e;
    }
    await new Promise((go) => setTimeout(go, 50));
  }
  throw new Error(`waited in vain for ${what}${last ? `: ${last}` : ""}`);
}

export class Yard {
  constructor(program) {
    this.program = program;
    this.dir = mkdtempSync(join(tmpdir(), "web-test-"));
    mkdirSync(join(this.dir, "home"));
    this.env = { ...process.env, HOME: join(this.dir, "home"), TRAINYARD_SLOTS: "cpu=8,memory=64g" };
    for (const k of ["DIR", "STORE", "SERVER", "TOKEN"]) delete this.env[`TRAINYARD_${k}`];
    this.port = 0;
    mkdirSync(join(this.dir, "runs"));
    this.flags = ["--runs", "runs"];
  }

  get log() {
    return readFileSync(join(this.dir, "server.log"), "utf8");
  }

  async start() {
    const log = openSync(join(this.dir, "server.log"), "w");
    this.child = spawn(this.program, ["server", "--listen", `127.0.0.1:${this.port}`, "--dir", "yard", "--experiments", "exps", "--trust-submitters", ...this.flags],
      { cwd: this.dir, env: this.env, stdio: ["ignore", log, log] });
    this.url = await until("the server", () => /^listening on (.*)$/m.exec(this.log)?.[1]);
    this.port = Number(new URL(this.url).port);
    this.token ??= readFileSync(join(this.dir, "yard/admin.token"), "utf8").trim();
  }

  async stop(signal = "SIGTERM") {
    const ended = new Promise((go) => this.child.once("exit", go));
    this.child.kill(signal);
    await ended;
  }

  async ask(method, path, body) {
    const r = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const data = r.status === 204 ? null : await r.json();
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${JSON.stringify(data)}`);
    return data;
  }

  submit(spec) {
    return this.ask("POST", "/jobs", spec);
  }

  async ended(id, seconds = 60) {
    return until(`the end of ${id}`, async () => {
      const j = await this.ask("GET", `/jobs/${id}`);
      return ["Succeeded", "Failed", "Stopped"].includes(j.state) && j;
    }, seconds);
  }

  /** An experiment made at the command line; its trials are over when it returns. */
  async experiment(trials, concurrency = 4) {
    return this.#tune("search", `experimentName: ctr-search
trialCommand: 'awk "BEGIN{v=1-({{lr}}-0.01)*({{lr}}-0.01)*40-{{dropout}}*{{dropout}}*0.2-({{units}}==64?0.05:0); for(i=1;i<=4;i++) print \\"::trainyard default=\\" v*i/4}"'
trialConcurrency: ${concurrency}
maxTrialNumber: ${trials}
searchSpace:
  lr: {_type: loguniform, _value: [0.0001, 0.1]}
  dropout: {_type: uniform, _value: [0, 0.5]}
  units: {_type: choice, _value: [64, 128, 256]}
tuner: {name: Random, classArgs: {optimize_mode: maximize, seed: 7}}
`);
  }

  /** One with two objectives that contradict each other: nothing beats any of its trials. */
  async twoObjectives() {
    return this.#tune("two", `experimentName: two-objectives
trialCommand: 'echo ::trainyard auc={{x}} ms={{x}}'
trialConcurrency: 4
maxTrialNumber: 6
searchSpace: {x: {_type: choice, _value: [1, 2, 3, 4, 5, 6]}}
objectives: [{metric: auc, optimizeMode: maximize}, {metric: ms, optimizeMode: minimize}]
tuner: {name: GridSearch}
`);
  }

  /** Three trials, of which the best fails behind its result. */
  async failing() {
    return this.#tune("failing", `experimentName: failing
trialCommand: 'echo ::trainyard default={{x}}; [ {{x}} != 3 ]'
trialConcurrency: 1
maxTrialNumber: 3
searchSpace: {x: {_type: choice, _value: [1, 2, 3]}}
tuner: {name: GridSearch, classArgs: {optimize_mode: maximize}}
`);
  }

  async #tune(folder, config) {
    writeFileSync(join(this.dir, `${folder}.yml`), `${config}trainingService: {platform: local}\n`);
    const { stdout } = await run(this.program, ["tune", "create", "--config", `${folder}.yml`, "--dir", `exps/${folder}`, "--jobs-dir", "jobs", "--wait"],
      { cwd: this.dir, env: this.env });
    return stdout.trim();
  }

  /** Trains a small model into runs/NAME. `bad`: one row has a number that is none. */
  async train(name, { bad = false, sets = [], select = false, dir = join(this.dir, "runs") } = {}) {
    let seed = 3;
    const draw = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    const rows = Array.from({ length: 1500 }, (_, i) => {
      const r = Array.from({ length: 4 }, () => draw(8));
      return [Number(r[0] % 2 !== r[1] % 2), ...r, bad && i === 900 ? "inf" : (draw(100) / 100).toFixed(2)].join(",");
    });
    const data = join(this.dir, `${name}.csv`);
    writeFileSync(data, `y,a,b,c,d,price\n${rows.join("\n")}\n`);
    const ids = ["a", "b", "c", "d"].map((f) => `feature_configs { id_feature { feature_name: "${f}" expression: "user:${f}" num_buckets: 8 embedding_dim: 4 } }`).join("\n");
    const config = join(this.dir, `${name}.config`);
    writeFileSync(config, `train_input_path: "${data}" eval_input_path: "${bad ? "" : data}" model_dir: "${join(dir, name)}"
train_config { num_epochs: 3 log_step_count_steps: 2 save_checkpoints_steps: 10
  sparse_optimizer { adagrad_optimizer { lr: 0.1 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.02 } constant_learning_rate {} } }
data_config { batch_size: 100 dataset_type: CsvDataset with_header: true fg_mode: FG_DAG label_fields: "y" }
${ids}
feature_configs { raw_feature { feature_name: "price" expression: "user:price" } }
model_config {
  feature_groups { group_name: "all" group_type: DEEP feature_names: ["a", "b", "c", "d", "price"] }
  ${select ? "variational_dropout { regularization_lambda: 0.5 }" : ""}
  multi_tower { towers { input: "all" mlp { hidden_units: [16] } } final { hidden_units: [8] } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
`);
    const ran = await run(this.program, ["train", config, ...sets.flatMap((x) => ["--set", x])], { cwd: this.dir, env: this.env }).catch((e) => e);
    if (Boolean(ran.code) !== bad) throw new Error(`train ${name}: ${ran.stderr}`);
    if (select) await this.command("features", "select", config, "--topk", "2");
    return config;
  }

  /** Exports what a config trained, and serves that; the server that starts next knows it as `name`. */
  async serve(name, config) {
    const dir = join(this.dir, "exports", name);
    const token = join(this.dir, "serve.token");
    mkdirSync(join(this.dir, "exports"), { recursive: true });
    writeFileSync(token, "a-token-of-the-model-server\n");
    await this.command("export", config, "--export-dir", dir);
    const log = openSync(join(this.dir, "serve.log"), "w");
    this.serving = spawn(this.program, ["serve", "--model", dir, "--listen", "127.0.0.1:0", "--token-file", token],
      { cwd: this.dir, env: this.env, stdio: ["ignore", log, log] });
    const url = await until("the model server", () => /(http:\/\/)?(127\.0\.0\.1:\d+)/.exec(readFileSync(join(this.dir, "serve.log"), "utf8"))?.[2]);
    this.flags.push("--serving", `${name}=http://${url}`, "--serving-token-file", token);
    return dir;
  }

  async command(...words) {
    return (await run(this.program, words, { cwd: this.dir, env: this.env })).stdout.trim();
  }

  /** Agents of its directories, which would end by themselves in a while. */
  #agents() {
    return readdirSync("/proc").filter((p) => /^\d+$/.test(p)).filter((p) => {
      try {
        return readFileSync(`/proc/${p}/environ`, "utf8").split("\0").some((v) => v.startsWith(`TRAINYARD_DIR=${this.dir}/`));
      } catch {
        return false; // somebody else's, or gone
      }
    });
  }

  async remove() {
    await this.stop().catch(() => undefined);
    this.serving?.kill();
    for (const p of this.#agents()) process.kill(Number(p));
    await until("the end of agents", () => this.#agents().length === 0);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
