// SPDX-License-Identifier: Apache-2.0
// Parts that all pages share. Data is only ever text or an attribute's value here.
import { Component, type ComponentChildren, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal, useComputed, useSignal } from "@preact/signals";
import { ApiError } from "./api";
import { lang, t, type Key } from "./i18n";
import { route } from "./router";
import { age, plain, stamp, duration } from "./format";

const SIGNS: Record<string, string> = {
  Creating: "○", Queuing: "◔", EnvPreparing: "◑", Running: "▶", Restarting: "↻", Suspended: "‖",
  Stopping: "◧", Succeeded: "✓", Failed: "✕", Stopped: "■", Unknown: "?", Interrupted: "‼",
};

const KINDS: Record<string, string> = {
  Creating: "wait", Queuing: "wait", EnvPreparing: "busy", Running: "busy", Restarting: "busy",
  Suspended: "wait", Stopping: "wait", Succeeded: "good", Failed: "bad", Stopped: "off", Unknown: "off", Interrupted: "wait",
  RUNNING: "busy", WAITING: "wait", SUCCEEDED: "good", FAILED: "bad", DONE: "good", ERROR: "bad", STOPPED: "off",
  USER_CANCELED: "off", SYS_CANCELED: "off", EARLY_STOPPED: "off", INTERRUPTED: "wait", VIEWED: "off",
  NO_MORE_TRIAL: "busy", TUNER_NO_MORE_TRIAL: "busy", INITIALIZED: "wait", STOPPING: "wait", UNKNOWN: "off",
};

const SIGN_OF_KIND: Record<string, string> = { busy: "▶", wait: "◔", good: "✓", bad: "✕", off: "■" };

export function State({ of }: { of: string }) {
  const key = `state.${of}` as Key;
  const kind = KINDS[of] ?? "off";
  const word = of in KINDS ? t(key) : of.toLowerCase().replaceAll("_", " ");
  return (
    <span class={`state ${kind}`}>
      <span aria-hidden="true">{SIGNS[of] ?? SIGN_OF_KIND[kind]}</span> {word}
    </span>
  );
}

/** Goes on while somebody looks: only what shows a time is drawn again. */
const now = signal(Date.now());
const tick = () => {
  if (!document.hidden) now.value = Date.now();
};
setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);

/** How long something that goes on has lasted, since `from`, and what has ended. */
export function Lasted({ from, to }: { from: number; to: number }) {
  const span = useSignal([from, to]);
  if (span.peek()[0] !== from || span.peek()[1] !== to) span.value = [from, to];
  const text = useComputed(() => (span.value[0] ? duration((span.value[1] || now.value) - span.value[0]!) : "–"));
  return <>{text}</>;
}

/** A moment, with the whole of it on demand. */
export function Ago({ at }: { at: number }) {
  const when = useSignal(at);
  when.value = at;
  const text = useComputed(() => {
    const past = now.value - when.value;
    return past < 0 ? t("common.in", { time: duration(-past) }) : t("common.ago", { time: age(past) });
  });
  if (!at) return <span class="dim">–</span>;
  return <time dateTime={new Date(at).toISOString()} title={stamp(at)}>{text}</time>;
}

export function Text({ of }: { of: string }) {
  return <>{plain(of)}</>;
}

export function Empty({ title, hint, command }: { title: string; hint?: string; command?: string }) {
  return (
    <div class="empty">
      <p class="big">{title}</p>
      {hint && <p>{hint}</p>}
      {command && <Command text={command} />}
    </div>
  );
}

export function Loading() {
  return <p class="loading" role="status">{t("common.loading")}</p>;
}

export function Failure({ error }: { error: unknown }) {
  if (!error) return null;
  const e = error instanceof ApiError ? error : undefined;
  return (
    <div class="failure" role="alert">
      <strong>{e?.status === 404 ? t("common.notFound") : t("common.failed")}</strong>
      {e && e.status !== 404 && <> <code>{e.code}</code> {plain(e.message)}</>}
      {!e && <> {plain(String(error))}</>}
      {e && e.problems.length > 1 && (
        <ul>{e.problems.map((p) => <li>{plain(p.message)}{p.hint && <span class="dim"> ({plain(p.hint)})</span>}</li>)}</ul>
      )}
    </div>
  );
}

/** A view that what it was told does not fit says so, and the rest of the page goes on. */
export class Guard extends Component<{ children: ComponentChildren }, { error?: unknown }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override render() {
    return this.state.error === undefined ? this.props.children : <Failure error={this.state.error} />;
  }
}

export function Copy({ text, label }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="small" onClick={copy} aria-live="polite">
      {done ? t("common.copied") : (label ?? t("common.copy"))}
    </button>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <pre tabIndex={0}>{plain(text)}</pre>
      <Copy text={text} />
    </div>
  );
}

export function Tabs<K extends string>({ tabs, now, choose, label }: { tabs: [K, string][]; now: K; choose: (k: K) => void; label: string }) {
  const move = (e: KeyboardEvent, i: number) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const next = tabs[(i + step + tabs.length) % tabs.length]!;
    choose(next[0]);
    document.getElementById(`tab-${next[0]}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label}>
      {tabs.map(([k, text], i) => (
        <button type="button" role="tab" id={`tab-${k}`} aria-selected={k === now} tabIndex={k === now ? 0 : -1}
          onClick={() => choose(k)} onKeyDown={(e) => move(e, i)} key={k}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Page({ title, children, actions, sub }: { title: string; children: ComponentChildren; actions?: ComponentChildren; sub?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · ${t("app.name")}`;
  }, [title, route.value.parts.join("/"), lang.value]);
  return (
    <>
      <header class="page-head">
        <div><h1>{title}</h1>{sub && <div class="sub">{sub}</div>}</div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows.map(([k, v]) => (
        <div key={k}><dt>{k}</dt><dd>{v}</dd></div>
      ))}
    </dl>
  );
}

/** A table that scrolls by itself when it is wide. */
export function Table({ head, children, label }: { head: ComponentChildren[]; children: ComponentChildren; label: string }) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead><tr>{head.map((h, i) => <th scope="col" key={i}>{h}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Field({ label, hint, children, error }: { label: string; hint?: string; children: JSX.Element; error?: string }) {
  return (
    <label class={error ? "field wrong" : "field"}>
      <span class="label">{label}</span>
      {children}
      {hint && !error && <span class="hint">{hint}</span>}
      {error && <span class="hint error" role="alert">{plain(error)}</span>}
    </label>
  );
}

interface Asked {
  text: string;
  answer: (yes: boolean) => void;
}
const asked = signal<Asked | null>(null);

/** Asks before something that cannot be undone. */
export function sure(text: string): Promise<boolean> {
  return new Promise((answer) => (asked.value = { text, answer }));
}

export function Question() {
  const box = useRef<HTMLDialogElement>(null);
  const now = asked.value;
  const end = (yes: boolean) => {
    asked.peek()?.answer(yes);
    asked.value = null;
  };
  useEffect(() => {
    if (now && !box.current?.open) box.current?.showModal();
  }, [now]);
  useEffect(() => { // it asks about a page that one has left
    const left = () => end(false);
    addEventListener("hashchange", left);
    return () => removeEventListener("hashchange", left);
  }, []);
  if (!now) return null;
  return (
    <dialog ref={box} aria-labelledby="question" onCancel={() => end(false)}>
      <p id="question">{now.text}</p>
      <div class="actions">
        <button type="button" onClick={() => end(false)}>{t("common.cancel")}</button>
        <button type="button" class="danger" onClick={() => end(true)}>OK</button>
      </div>
    </dialog>
  );
}

/** Gives the browser a file to keep. */
export function saveFile(name: string, parts: BlobPart[], type: string): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob(parts, { type }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000); // the browser may ask where to keep it first
}

/** What an action of a button led to. */
export function useAction(): { error: unknown; busy: boolean; act: (f: () => Promise<unknown>) => Promise<void> } {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const act = async (f: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await f();
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return { error, busy, act };
}
