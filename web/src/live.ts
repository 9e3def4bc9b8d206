// SPDX-License-Identifier: Apache-2.0
// Data that is asked for again while somebody looks at it. A failure keeps what was shown and
// tries again, later and later; a page that nobody sees asks nothing.
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { ApiError, session, stream } from "./api";
import { drop, take } from "./leases";

export interface Live<T> {
  data: T | undefined;
  error: ApiError | undefined;
  reload: () => void;
}

const SLOWEST = 15000;
const SOONEST = 1000;

export type Topic = "jobs" | "records" | "experiments" | "runs";
/** What the server last said of its lists; undefined while it cannot tell. */
export const changes = signal<Record<Topic, string> | undefined>(undefined);

const LEASE = "changes";
const ASK = 1000; // how often a page looks whether somebody still follows for it
const SILENT = 5 * ASK;

/**
 * One stream for all pages of a browser, while somebody is logged in and looks at one of them: the page that has the
 * lease tells the others.
 */
export function followChanges(): void {
  const others = new BroadcastChannel("trainyard.changes");
  let stop: AbortController | undefined;
  let heard = 0;
  const tell = (now: Record<Topic, string> | undefined) => {
    changes.value = now;
    others.postMessage({ now: now ?? null });
  };
  const lead = async () => {
    const mine = (stop = new AbortController());
    let wait = 500;
    while (!mine.signal.aborted && session.peek()) {
      try {
        await stream("/changes?follow=true", mine.signal, (e) => {
          if (e.event !== "changed") return;
          wait = 500;
          tell(JSON.parse(e.data) as Record<Topic, string>);
        });
      } catch {
        // asked for again below
      }
      if (mine.signal.aborted) break;
      tell(undefined); // lists ask by themselves meanwhile
      await new Promise((go) => setTimeout(go, wait));
      wait = Math.min(SLOWEST, wait * 2);
    }
    if (stop === mine) stop = undefined;
  };
  const end = () => {
    stop?.abort();
    stop = undefined;
    drop(LEASE);
    changes.value = undefined;
  };
  const look = () => {
    if (stop || document.hidden || !session.peek()) return;
    if (take(LEASE, end)) void lead();
    else if (heard && Date.now() - heard > SILENT) changes.value = undefined;
    else if (!heard) others.postMessage({ ask: true });
  };
  others.onmessage = (e: MessageEvent<{ now?: Record<Topic, string> | null; ask?: boolean }>) => {
    if (stop && e.data.ask) others.postMessage({ now: changes.peek() ?? null });
    if (stop || document.hidden || e.data.now === undefined) return;
    heard = Date.now();
    changes.value = e.data.now ?? undefined;
  };
  setInterval(() => {
    if (stop) others.postMessage({ now: changes.peek() ?? null });
    else look();
  }, ASK);
  document.addEventListener("visibilitychange", () => {
    heard = 0;
    if (document.hidden) end();
    else look();
  });
  session.subscribe((s) => (s ? look() : end()));
}

/**
 * The first key says what is asked for: with another one nothing of it is known. When others change it is
 * asked for again, and what was shown stays until then.
 * `topic`: asked for again when that list changes, and after `every` only while nobody tells.
 */
export function useLive<T>(load: (stop: AbortSignal) => Promise<T>, keys: unknown[], every: number | ((data: T) => number), topic?: Topic): Live<T> {
  const [state, setState] = useState<{ data?: T; error?: ApiError }>({});
  const [turn, setTurn] = useState(0);
  const shown = useRef("");
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let wait = 0;
    let asked = 0;
    let known: string | undefined;
    const ask = async () => {
      if (document.hidden) return;
      asked = Date.now();
      known = topic && changes.peek()?.[topic];
      try {
        const data = await load(stop.signal);
        if (stop.signal.aborted) return;
        setState({ data });
        wait = 0;
        const next = typeof every === "function" ? every(data) : every;
        if (next && !known) timer = window.setTimeout(ask, next);
        else if (next && topic) told(changes.peek());
      } catch (e) {
        if (stop.signal.aborted) return;
        if (e instanceof ApiError && e.status < 500 && e.status !== 429) setState((s) => ({ ...s, error: e }));
        else {
          const again = wait > 0;
          timer = window.setTimeout(ask, (wait = Math.min(SLOWEST, wait * 2 || 500)));
          // what was shown is worth more than a word on one answer that failed
          if (e instanceof ApiError) setState((s) => (s.data === undefined || again ? { ...s, error: e } : s));
        }
      }
    };
    const told = (now: Record<Topic, string> | undefined) => {
      if (!topic || !every || now?.[topic] === known) return;
      clearTimeout(timer);
      timer = window.setTimeout(ask, Math.max(0, asked + SOONEST - Date.now()));
    };
    const seen = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      void ask();
    };
    const key = JSON.stringify(keys.slice(0, 1));
    if (shown.current !== key) setState({});
    shown.current = key;
    void ask();
    const forget = topic ? changes.subscribe((now) => asked && told(now)) : () => undefined;
    document.addEventListener("visibilitychange", seen);
    addEventListener("online", seen);
    return () => {
      stop.abort();
      clearTimeout(timer);
      forget();
      document.removeEventListener("visibilitychange", seen);
      removeEventListener("online", seen);
    };
  }, [...keys, turn]);
  return { data: state.data, error: state.error, reload: () => setTurn((n) => n + 1) };
}
