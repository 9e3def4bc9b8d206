// SPDX-License-Identifier: Apache-2.0
// Where one is, in the fragment of the address: #/jobs?state=Running. It is never sent to the
// server, and the page works below any path.
import { signal } from "@preact/signals";

export interface Route {
  parts: string[];
  query: URLSearchParams;
}

function read(): Route {
  const text = location.hash.startsWith("#/") ? location.hash.slice(2) : "";
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  return {
    parts: path.split("/").filter(Boolean).map(decode),
    query: new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1)),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>(read());
addEventListener("hashchange", () => (route.value = read()));

export function href(parts: string[], query?: Record<string, string | undefined>): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query ?? {})) if (v) q.set(k, v);
  const text = q.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export function go(parts: string[], query?: Record<string, string | undefined>): void {
  location.hash = href(parts, query);
}

/** Changes some of the query; no new entry in the history. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const now = Object.fromEntries(route.peek().query);
  history.replaceState(null, "", href(route.peek().parts, { ...now, ...changes }));
  route.value = read();
}
