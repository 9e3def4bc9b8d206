// SPDX-License-Identifier: Apache-2.0
// Data that is asked for again while somebody looks at it. A failure keeps what was shown and
// tries again, later and later; a page that nobody sees asks nothing.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";

export interface Live<T> {
  data: T | undefined;
  error: ApiError | undefined;
  reload: () => void;
}

const SLOWEST = 15000;

export function useLive<T>(load: (stop: AbortSignal) => Promise<T>, keys: unknown[], every: number | ((data: T) => number)): Live<T> {
  const [state, setState] = useState<{ data?: T; error?: ApiError }>({});
  const [turn, setTurn] = useState(0);
  const shown = useRef("");
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let wait = 0;
    const ask = async () => {
      if (document.hidden) return;
      try {
        const data = await load(stop.signal);
        if (stop.signal.aborted) return;
        setState({ data });
        wait = 0;
        const next = typeof every === "function" ? every(data) : every;
        if (next) timer = window.setTimeout(ask, next);
      } catch (e) {
        if (stop.signal.aborted) return;
        if (e instanceof ApiError && e.status < 500 && e.status !== 429) setState((s) => ({ ...s, error: e }));
        else timer = window.setTimeout(ask, (wait = Math.min(SLOWEST, wait * 2 || 500)));
      }
    };
    const seen = () => {
      if (document.hidden) return;
      clearTimeout(timer);
      void ask();
    };
    const key = JSON.stringify(keys);
    if (shown.current !== key) setState({});
    shown.current = key;
    void ask();
    document.addEventListener("visibilitychange", seen);
    addEventListener("online", seen);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
      removeEventListener("online", seen);
    };
  }, [...keys, turn]);
  return { data: state.data, error: state.error, reload: () => setTurn((n) => n + 1) };
}
