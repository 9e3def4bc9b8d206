// SPDX-License-Identifier: Apache-2.0
// Requests to the server. The session is in a cookie that scripts cannot read; changes bring
// the value `csrf` that GET /session told.
import { signal } from "@preact/signals";

export interface Session {
  name: string;
  role: "viewer" | "auditor" | "submitter" | "admin";
  projects: string[];
  /** Those of them that are administered. */
  leads: string[];
  csrf?: string;
  expires?: string;
  version: string;
  queue: boolean;
}

/** undefined: not asked yet; null: nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the last request reached the server. */
export const online = signal(true);

export interface Problem {
  code?: string;
  line?: number;
  message: string;
  hint?: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly problems: Problem[] = [],
  ) {
    super(message);
  }
}

const BASE = "api/v1";

/**
 * A path of the API. Every value in it is one part of it, whatever it holds: what stands in an address that somebody
 * sent, or in data, never leads a request elsewhere.
 */
export function pathOf(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return parts.reduce((path, part, i) => path + encodeURIComponent(values[i - 1]!) + part);
}

/** The same for a link. Browsers resolve "..", however it is written, so none gets through. */
export function address(path: string): string {
  const base = new URL(BASE, document.baseURI).pathname;
  if (new URL(BASE + path, document.baseURI).pathname !== base + path.split("?")[0]) throw new ApiError(404, "", path);
  return BASE + path;
}

async function failure(r: Response): Promise<ApiError> {
  try {
    const body = await r.json();
    return new ApiError(r.status, String(body.code), String(body.message), body.problems ?? []);
  } catch {
    return new ApiError(r.status, "", `${r.status} ${r.statusText}`);
  }
}

/** The answer, whatever its type. 401 ends the session of the page. */
export async function request(method: string, path: string, body?: unknown, stop?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const csrf = session.peek()?.csrf;
  if (method !== "GET" && csrf) headers["X-Trainyard-Csrf"] = csrf;
  const to = address(path);
  let r: Response;
  try {
    r = await fetch(to, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(stop ? { signal: stop } : {}),
    });
  } catch (e) {
    if (!stop?.aborted) online.value = false;
    throw e;
  }
  online.value = true;
  if (r.status === 401 && path !== "/session") session.value = null;
  if (!r.ok) throw await failure(r);
  return r;
}

export async function get<T>(path: string, stop?: AbortSignal): Promise<T> {
  const r = await request("GET", path, undefined, stop);
  if (!r.headers.get("Content-Type")?.startsWith("application/json")) throw new ApiError(404, "", path); // a file
  return r.json() as Promise<T>;
}

export async function getText(path: string): Promise<string> {
  return (await request("GET", path)).text();
}

export async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
  const r = await request(method, path, body);
  return (r.status === 204 ? undefined : await r.json()) as T;
}

export function query(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(values)) if (v !== undefined && v !== "") q.set(k, String(v));
  const text = q.toString();
  return text ? `?${text}` : "";
}

export async function openSession(proof: { token: string } | { link: string }): Promise<void> {
  session.value = await send<Session>("POST", "/session", proof);
}

export async function loadSession(): Promise<void> {
  try {
    session.value = await get<Session>("/session");
  } catch (e) {
    if (e instanceof ApiError) session.value = null;
    else throw e;
  }
}

export async function closeSession(): Promise<void> {
  try {
    await send("DELETE", "/session");
  } finally {
    session.value = null;
  }
}

export function may(role: "submitter" | "admin"): boolean {
  const have = session.value?.role;
  return have === "admin" || (role === "submitter" && have === "submitter");
}

/** Whether something of `owner` is one's own to change. */
export function mine(of: { owner?: string | undefined; project?: string | undefined }): boolean {
  const s = session.value;
  if (!s || !may("submitter")) return false;
  return s.role === "admin" || of.owner === s.name || (!!of.project && s.leads.includes(of.project));
}

export interface StreamEvent {
  event: string;
  id: string;
  data: string;
}

/** Reads server-sent events until the answer ends or `stop` is raised. */
export async function stream(path: string, stop: AbortSignal, take: (e: StreamEvent) => void): Promise<void> {
  const r = await request("GET", path, undefined, stop);
  const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    let end: number;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const e: StreamEvent = { event: "message", id: "", data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        const colon = line.indexOf(": ");
        if (colon <= 0) continue;
        const field = line.slice(0, colon);
        if (field === "event" || field === "id" || field === "data") e[field] = line.slice(colon + 2);
      }
      rest = rest.slice(end + 2);
      if (e.data) take(e);
    }
  }
}
