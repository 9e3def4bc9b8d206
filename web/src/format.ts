// SPDX-License-Identifier: Apache-2.0
// Numbers, times and sizes for people.
import { lang } from "./i18n";

export function ms(time: string | undefined): number {
  return time ? Date.parse(time) : 0;
}

const UNITS = { en: ["d", "h", "m", "s"], zh: ["天", "小时", "分", "秒"] } as const;

/** The two largest units. */
export function duration(millis: number): string {
  const s = Math.max(0, Math.round(millis / 1000));
  const parts = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60, s % 60];
  const units = UNITS[lang.value];
  const first = parts.findIndex((n) => n > 0);
  if (first < 0 || first === 3) return `${parts[3]}${units[3]}`;
  return `${parts[first]}${units[first]} ${parts[first + 1]}${units[first + 1]}`;
}

/** How long ago: what lies back more than a minute in minutes, so that a list of it need not be drawn again every second. */
export function age(millis: number): string {
  return duration(millis < 60000 ? millis : Math.floor(millis / 60000) * 60000).replace(/ 0\D+$/, "");
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i && n < 100 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

/** Thousandths of a processor, as processors. */
export function cores(milli: number): string {
  return number(milli / 1000);
}

/** Six digits that count; what is not a number is a dash. */
export function number(v: number | null | undefined): string {
  if (v === null || v === undefined || Number.isNaN(v)) return "–";
  if (v === 0) return "0"; // of either sign
  if (Number.isInteger(v) && Math.abs(v) < 1e15) return v.toLocaleString(lang.value);
  const size = Math.abs(v);
  if (size >= 1e6 || size < 1e-4) return v.toExponential(3);
  return String(Number(v.toPrecision(6)));
}

/** Three digits that count: for what nobody compares digit by digit. */
export function few(v: number): string {
  return number(Number(v.toPrecision(3)));
}

export function stamp(millis: number): string {
  return millis
    ? new Date(millis).toLocaleString(lang.value, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })
    : "–";
}

export function clock(millis: number): string {
  return new Date(millis).toLocaleTimeString(lang.value, { hourCycle: "h23" });
}

export function value(v: unknown): string {
  if (typeof v === "number") return number(v);
  return typeof v === "string" ? v : JSON.stringify(v) ?? "–";
}

/** A field of a CSV file; what a spreadsheet would take for a formula is text to it. */
export function csvCell(v: unknown): string {
  const raw = v === undefined || v === null ? "" : value(v);
  const text = typeof v === "string" && /^[=+\-@\t\r]/.test(v) && Number.isNaN(Number(v)) ? `'${raw}` : raw;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const WORD = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One argument of a command line, as a shell reads it. */
export function quoted(word: string): string {
  return WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Control characters as signs, so that they are seen and do nothing; those that turn text around as their names. */
export function plain(text: unknown): string {
  const s = typeof text === "string" ? text : text === undefined || text === null ? "" : value(text); // another program's answer may hold anything
  // eslint-disable-next-line no-control-regex
  return s.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase()}]`).replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (c) =>
    c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)),
  );
}
