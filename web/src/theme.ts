// SPDX-License-Identifier: Apache-2.0
// Dark or light: the system's at first, then the person's choice.
import { signal } from "@preact/signals";

const STORED = "trainyard.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function chosen(): "dark" | "light" {
  const kept = localStorage.getItem(STORED);
  return kept === "dark" || kept === "light" ? kept : system.matches ? "dark" : "light";
}

export const theme = signal<"dark" | "light">(chosen());

function show(): void {
  theme.value = chosen();
  document.documentElement.dataset.theme = theme.value;
}

system.addEventListener("change", show);
show();

export function switchTheme(): void {
  localStorage.setItem(STORED, theme.value === "dark" ? "light" : "dark");
  show();
}
