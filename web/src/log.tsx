// SPDX-License-Identifier: Apache-2.0
// A log as it grows. Only the lines in view are in the page, however many there are; earlier
// parts are loaded when they are asked for, later ones come by a stream that goes on behind
// the last byte it had, also after the server was away.
import { useEffect, useRef, useState } from "preact/hooks";
import { pathOf, request, stream } from "./api";
import { pieces } from "./ansi";
import { bytes } from "./format";
import { t } from "./i18n";
import { drop, take } from "./leases";
import { Logbook, wholeCharacters } from "./logbook";
import { Failure, Loading, saveFile, useAction } from "./ui";

const ROW = 18; // pixels
const TALLEST = 12_000_000; // pixels; browsers know no taller element
const FIRST = 512 * 1024; // bytes that are loaded at once
const PART = 4 * 1024 * 1024;
const WIDEST = 4000; // characters of a line that are shown
const NEWLINE = 10;
const STREAMS = 3; // logs that pages of one browser follow at a time; others ask every second
const BATCH = 50_000; // lines that a search reads before it lets others work

async function part(path: string, offset: number, limit: number): Promise<{ data: Uint8Array<ArrayBuffer>; size: number; next: number; over: boolean }> {
  const r = await request("GET", `${path}&offset=${offset}&limit=${limit}`);
  const data = new Uint8Array(await r.arrayBuffer());
  return {
    data,
    size: Number(r.headers.get("Log-Size") ?? 0),
    next: Number(r.headers.get("Log-Next") ?? offset + data.length),
    over: r.headers.get("Log-Over") === "true",
  };
}

/**
 * The bytes from `begin` to `end`, though an answer may have fewer than were asked for. Where output was dropped
 * an answer begins with a line that says so; it counts once, where the gap begins.
 */
async function bytesOf(path: string, begin: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = begin; at < end;) {
    const { data, next } = await part(path, at, end - at);
    if (!data.length) break;
    const said = next === at + data.length ? 0 : data.indexOf(NEWLINE, 1) + 1;
    if (said && at > begin) parts.push(data.subarray(0, said));
    parts.push(data.subarray(said, Math.max(said, data.length - Math.max(0, next - end))));
    at = next;
  }
  return joined(parts);
}

function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** All of the log as a file; an answer of the server holds a part of it. */
async function download(path: string, name: string): Promise<void> {
  const { size } = await part(path, 0, 1);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < size;) {
    const { data, next } = await part(path, at, PART);
    if (!data.length) break;
    parts.push(data);
    at = next;
  }
  saveFile(name, parts, "text/plain");
}

/** Reads the end of the log, then follows it. */
async function follow(path: string, book: Logbook, stop: AbortSignal, changed: () => void, ended: () => void): Promise<void> {
  const size = (await part(path, 0, 1)).size;
  const begin = Math.max(0, size - FIRST);
  const head = await bytesOf(path, begin, size);
  if (stop.aborted) return;
  book.start(head, begin, size);
  changed();
  let wait = 0;
  let over = false;
  while (!over && !stop.aborted) {
    await seen(stop);
    const place = Array.from({ length: STREAMS }, (_, i) => `log.${i}`).find((name) => take(name, () => undefined));
    try {
      over = await (place ? streamed(path, book, stop, changed) : polled(path, book, changed));
      wait = 0;
    } catch {
      wait = Math.min(8000, wait * 2 || 250);
    }
    if (place) drop(place);
    if (!over && !stop.aborted) await new Promise((go) => setTimeout(go, wait || (place ? 250 : 1000)));
  }
  if (over) ended();
}

/** Until somebody looks at the page: what nobody sees takes no connection. */
async function seen(stop: AbortSignal): Promise<void> {
  if (document.hidden)
    await new Promise((go) => {
      document.addEventListener("visibilitychange", go, { once: true });
      stop.addEventListener("abort", go, { once: true });
    });
}

/** What comes while the page is in view; true: nothing more comes. */
async function streamed(path: string, book: Logbook, stop: AbortSignal, changed: () => void): Promise<boolean> {
  const own = new AbortController();
  const end = () => own.abort();
  const hide = () => document.hidden && end();
  let over = false;
  stop.addEventListener("abort", end);
  document.addEventListener("visibilitychange", hide);
  try {
    await stream(`${path}&follow=true&offset=${book.next}`, own.signal, (e) => {
      if (e.event === "end") over = true;
      if (e.event !== "log") return;
      const data = JSON.parse(e.data) as { offset: number; text: string };
      book.append(data.text, data.offset, Number(e.id.split(".")[1]));
      changed();
    });
  } catch (e) {
    if (!own.signal.aborted) throw e;
  } finally {
    stop.removeEventListener("abort", end);
    document.removeEventListener("visibilitychange", hide);
  }
  return over;
}

/** The same once, where other pages of this browser have all streams that it may have. */
async function polled(path: string, book: Logbook, changed: () => void): Promise<boolean> {
  const { data, next, over } = await part(path, book.next, FIRST);
  if (!data.length) return over;
  const whole = wholeCharacters(data) || data.length;
  book.append(new TextDecoder().decode(data.subarray(0, whole)), book.next, next - (data.length - whole));
  changed();
  return false;
}

function Line({ text, mark, begun }: { text: string; mark: string; begun: boolean }) {
  const shown = text.length > WIDEST ? text.slice(0, WIDEST) : text;
  const cut = text.length - shown.length;
  return (
    <>
      {begun && <span class="cut">{t("log.begun")} </span>}
      {pieces(shown).map((p, i) => <span class={p.cls} key={i}>{marked(p.text, mark)}</span>)}
      {cut > 0 && <span class="cut">{t("log.cut", { n: cut })}</span>}
    </>
  );
}

function marked(text: string, mark: string) {
  const at = mark ? text.toLowerCase().indexOf(mark) : -1;
  if (at < 0) return text;
  return <>{text.slice(0, at)}<mark>{text.slice(at, at + mark.length)}</mark>{text.slice(at + mark.length)}</>;
}

interface Found {
  of: string;
  rows: number[];
}

async function find(book: Logbook, text: string, stop: AbortSignal): Promise<number[]> {
  const rows: number[] = [];
  for (let i = 0; i < book.count; i++) {
    if (i % BATCH === BATCH - 1) await new Promise((go) => setTimeout(go));
    if (stop.aborted) break;
    if (book.line(i).toLowerCase().includes(text)) rows.push(i);
  }
  return rows;
}

export function LogView({ job, worker, attempt }: { job: string; worker: string; attempt: number }) {
  const path = pathOf`/jobs/${job}/logs/${worker}?attempt=${attempt}`;
  const book = useRef(new Logbook());
  const pane = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [ready, setReady] = useState(false);
  const [over, setOver] = useState(false);
  const [stick, setStick] = useState(true);
  const [top, setTop] = useState(0);
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found>({ of: "", rows: [] });
  const [at, setAt] = useState(0);
  const [error, setError] = useState<unknown>();
  const { error: failed, busy, act } = useAction();
  const sticky = useRef(true);
  sticky.current = stick;
  const changed = useRef(0);

  useEffect(() => {
    const stop = new AbortController();
    book.current = new Logbook();
    setReady(false);
    setOver(false);
    const change = () => {
      setReady(true);
      if (!changed.current)
        changed.current = requestAnimationFrame(() => {
          changed.current = 0;
          redraw((n) => n + 1);
        });
    };
    follow(path, book.current, stop.signal, change, () => setOver(true)).catch((e: unknown) => {
      if (!stop.signal.aborted) setError(e);
    });
    return () => stop.abort();
  }, [path]);

  const n = book.current.count;
  const view = pane.current?.clientHeight ?? 600;
  const height = Math.min(n * ROW, TALLEST);
  const scale = height > view ? (n * ROW - view) / (height - view) : 1;
  const first = Math.max(0, Math.floor((top * scale) / ROW) - 10);
  const last = Math.min(n, first + Math.ceil(view / ROW) + 20);

  useEffect(() => {
    if (sticky.current && pane.current) pane.current.scrollTop = pane.current.scrollHeight;
  });
  useEffect(() => {
    const stop = new AbortController();
    const want = text.toLowerCase();
    if (!want) setFound({ of: "", rows: [] });
    else void find(book.current, want, stop.signal).then((rows) => {
      if (stop.signal.aborted) return;
      setFound({ of: want, rows });
      setAt(0);
      if (rows.length) show(rows[0]!);
    });
    return () => stop.abort();
  }, [text, path]);

  const show = (row: number) => {
    setStick(false);
    if (pane.current) pane.current.scrollTop = Math.max(0, (row * ROW - view / 2) / scale);
  };
  const step = (by: number) => {
    if (!found.rows.length) return;
    const next = (at + by + found.rows.length) % found.rows.length;
    setAt(next);
    show(found.rows[next]!);
  };
  const scrolled = (e: Event) => {
    const p = e.currentTarget as HTMLDivElement;
    setTop(p.scrollTop);
    const bottom = p.scrollHeight - p.scrollTop - p.clientHeight < ROW * 2;
    if (bottom !== stick) setStick(bottom);
  };
  const earlier = async (all: boolean) => {
    const b = book.current;
    do {
      const before = b.count;
      const begin = Math.max(0, b.from - PART);
      b.prepend(await bytesOf(path, begin, b.from), begin);
      if (pane.current && !stick) pane.current.scrollTop += ((b.count - before) * ROW) / scale;
      redraw((k) => k + 1);
    } while (all && b.from > 0);
  };
  if (error) return <Failure error={error} />;
  const rows = [];
  for (let i = first; i < last; i++) {
    const hit = found.rows[at] === i && found.of !== "";
    rows.push(<div class={hit ? "row hit" : "row"} key={i}><Line text={book.current.line(i)} mark={found.of} begun={i === 0 && book.current.begun} /></div>);
  }
  return (
    <section class="log">
      <div class="log-bar">
        <input type="search" aria-label={t("log.search")} placeholder={t("log.search")} value={text}
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => e.key === "Enter" && step(e.shiftKey ? -1 : 1)} />
        {found.of && <span role="status">{t("log.matches", { n: found.rows.length })}</span>}
        {found.rows.length > 1 && (
          <>
            <button type="button" class="small" aria-label={t("log.previous")} onClick={() => step(-1)}>↑</button>
            <button type="button" class="small" aria-label={t("log.next")} onClick={() => step(1)}>↓</button>
          </>
        )}
        <span class="grow" />
        {book.current.from > 0 && (
          <>
            <button type="button" class="small" onClick={() => earlier(false)}>{t("log.earlier", { size: bytes(book.current.from) })}</button>
            <button type="button" class="small" onClick={() => earlier(true)}>{t("log.all")}</button>
          </>
        )}
        <span class="dim" data-lines={n}>{t("log.lines", { n })}</span>
        <label class="check"><input type="checkbox" checked={stick} onChange={(e) => setStick(e.currentTarget.checked)} /> {t("log.follow")}</label>
        <button type="button" class="small" disabled={busy} onClick={() => act(() => download(path, `${job}-${worker}.${attempt}.log`))}>{t("common.download")}</button>
      </div>
      <Failure error={failed} />
      {!ready && <Loading />}
      <div class="log-pane" ref={pane} onScroll={scrolled} tabIndex={0} role="log" aria-live="off"
        aria-label={t("log.view", { worker, attempt })}>
        <div class="log-space" style={{ height: `${height}px` }}>
          <div class="log-rows" style={{ transform: `translateY(${Math.round(scale === 1 ? first * ROW : top - ((top * scale) % ROW) - Math.min(10, Math.floor((top * scale) / ROW)) * ROW)}px)` }}>
            {rows}
          </div>
        </div>
        {ready && n === 0 && <p class="dim">{t("log.empty")}</p>}
      </div>
      <p class="foot dim">{over ? t("log.over") : stick ? t("log.following") : ""}</p>
    </section>
  );
}
