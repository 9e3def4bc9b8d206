// SPDX-License-Identifier: Apache-2.0
// A job by form. The server checks it as it checks a job of the command line; what it finds
// stands at the field it is about. The command line that does the same is shown as one types.
import { useState } from "preact/hooks";
import { ApiError, may, send } from "./api";
import { t, type Key } from "./i18n";
import { go } from "./router";
import { quoted } from "./format";
import { Command, Failure, Field, Page, useAction } from "./ui";
import type { Job } from "./jobs";

interface Form {
  name: string;
  command: string;
  image: string;
  workers: string;
  cpu: string;
  memory: string;
  gpu: string;
  priority: string;
  queue: string;
  project: string;
  timeout: string;
  retries: string;
  env: string;
  data: string;
}

const BLANK: Form = {
  name: "", command: "", image: "", workers: "1", cpu: "1", memory: "", gpu: "0", priority: "1", queue: "default",
  project: "", timeout: "", retries: "0", env: "", data: "",
};
const WHOLE = ["workers", "gpu", "priority", "retries"] as const;
const TEXTS = ["name", "image", "cpu", "memory", "queue", "project", "timeout"] as const;

function lines(text: string): string[] {
  return text.split("\n").map((l) => l.trim()).filter(Boolean);
}

/** The body of the request; what has its default value is left out. */
export function specOf(f: Form): Record<string, unknown> {
  const spec: Record<string, unknown> = { command: f.command };
  for (const k of TEXTS) if (f[k] !== BLANK[k]) spec[k] = f[k];
  for (const k of WHOLE) if (f[k] !== BLANK[k]) spec[k] = /^-?\d+$/.test(f[k]) ? Number(f[k]) : f[k];
  const env = lines(f.env).map((l) => [l.split("=")[0]!, l.slice(l.indexOf("=") + 1)]);
  if (env.length) spec.env = Object.fromEntries(env);
  if (lines(f.data).length) spec.data = lines(f.data);
  return spec;
}

/** The same as a command line. */
export function commandLine(f: Form): string {
  const flags: string[] = [];
  for (const k of [...TEXTS, ...WHOLE]) if (f[k] !== BLANK[k]) flags.push(`--${k}=${f[k]}`);
  for (const l of lines(f.env)) flags.push(`--env=${l}`);
  for (const l of lines(f.data)) flags.push(`--data=${l}`);
  const words = flags.map((w) => `    ${quoted(w)} \\\n`).join("");
  return `trainyard job submit \\\n${words}    -- ${quoted(f.command)}`;
}

/** Which field a message of the server is about. */
function fieldOf(message: string, f: Form): keyof Form | undefined {
  const first = /^'?(?:--)?([a-z_]+)'?[ :.\[]/.exec(message)?.[1];
  return first && first in f ? (first as keyof Form) : undefined;
}

export function Create() {
  const [form, setForm] = useState<Form>(BLANK);
  const { error, busy, act } = useAction();
  const set = (k: keyof Form) => (e: { currentTarget: { value: string } }) => setForm({ ...form, [k]: e.currentTarget.value });
  const submit = (e: Event) => {
    e.preventDefault();
    void act(async () => go(["jobs", (await send<Job>("POST", "/jobs", { ...specOf(form), client_token: crypto.randomUUID?.() ?? String(Math.random()) })).id]));
  };
  const wrong: Partial<Record<keyof Form, string>> = {};
  if (error instanceof ApiError) {
    const found = error.problems.length ? error.problems : [{ message: error.message }];
    for (const p of found) {
      const k = fieldOf(p.message, form);
      if (k) wrong[k] ??= p.message;
    }
  }
  const text = (k: keyof Form, label: Key, hint?: Key) => (
    <Field label={t(label)} {...(hint ? { hint: t(hint) } : {})} {...(wrong[k] ? { error: wrong[k] } : {})}>
      <input name={k} value={form[k]} onInput={set(k)} />
    </Field>
  );
  const area = (k: keyof Form, label: Key, rows: number, hint?: Key) => (
    <Field label={t(label)} {...(hint ? { hint: t(hint) } : {})} {...(wrong[k] ? { error: wrong[k] } : {})}>
      <textarea name={k} rows={rows} spellcheck={false} value={form[k]} onInput={set(k)} required={k === "command"} />
    </Field>
  );
  if (!may("submitter")) return <Page title={t("create.title")}><p>{t("create.notYou")}</p></Page>;
  return (
    <Page title={t("create.title")}>
      <form class="form" onSubmit={submit}>
        {area("command", "create.command", 4, "create.commandHint")}
        <div class="grid">
          {text("name", "common.name")}
          {text("project", "common.project")}
          {text("workers", "jobs.workers")}
          {text("cpu", "job.cpu")}
          {text("memory", "job.memory")}
          {text("gpu", "job.gpu")}
          {text("priority", "jobs.priority")}
          {text("queue", "jobs.queue")}
          {text("timeout", "create.timeout", "create.timeoutHint")}
          {text("retries", "create.retries")}
          {text("image", "create.image")}
        </div>
        <div class="grid wide">
          {area("env", "create.env", 3)}
          {area("data", "create.data", 3, "create.dataHint")}
        </div>
        <Failure error={error} />
        <h2>{t("create.line")}</h2>
        <Command text={commandLine(form)} />
        <button class="primary" disabled={busy}>{t("create.submit")}</button>
      </form>
    </Page>
  );
}
