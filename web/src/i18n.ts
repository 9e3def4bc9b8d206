// SPDX-License-Identifier: Apache-2.0
// The language of the page: the browser's at first, then the person's choice.
import { signal } from "@preact/signals";
import { en, type Key } from "./i18n/en";
import { zh } from "./i18n/zh";

export type { Key } from "./i18n/en";

const STORED = "trainyard.language";

function first(): "en" | "zh" {
  const kept = localStorage.getItem(STORED);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.startsWith("zh") ? "zh" : "en";
}

export const lang = signal<"en" | "zh">(first());
document.documentElement.lang = lang.value;

export function switchLanguage(): void {
  lang.value = lang.value === "en" ? "zh" : "en";
  localStorage.setItem(STORED, lang.value);
  document.documentElement.lang = lang.value;
}

/** The text of `key`, with {names} replaced. */
export function t(key: Key, values?: Record<string, string | number>): string {
  const text: string = (lang.value === "zh" ? zh : en)[key];
  return values ? text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "")) : text;
}
