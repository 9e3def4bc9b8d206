// SPDX-License-Identifier: Apache-2.0
// What the pages of one browser share: a browser opens six connections to a server, however many of
// its tabs show the console, and an answer that goes on takes one for as long. A page takes a lease
// before it opens one, renews it, and gives it back when nobody sees the page any more. Kept in
// localStorage, which pages of an address without TLS have, too; two pages that take the same
// lease at the same moment find out when they renew.
const ME = `${Math.random()}`.slice(2);
const LASTS = 5000;
const RENEW = 1500;
const mine = new Map<string, () => void>();

function holder(name: string): string {
  const [id = "", until] = (localStorage.getItem(`trainyard.lease.${name}`) ?? "").split(" ");
  return Number(until) > Date.now() ? id : "";
}

function write(name: string): void {
  localStorage.setItem(`trainyard.lease.${name}`, `${ME} ${Date.now() + LASTS}`);
}

/** False: another page has it. `lost` is called when it turns out to be another's after all. */
export function take(name: string, lost: () => void): boolean {
  const has = holder(name);
  if (has && has !== ME) return false;
  write(name);
  mine.set(name, lost);
  return true;
}

export function drop(name: string): void {
  if (!mine.delete(name)) return;
  if (holder(name) === ME) localStorage.removeItem(`trainyard.lease.${name}`);
}

setInterval(() => {
  for (const [name, lost] of mine) {
    const has = holder(name);
    if (has && has !== ME) {
      mine.delete(name);
      lost();
    } else write(name);
  }
}, RENEW);
addEventListener("pagehide", () => [...mine.keys()].forEach(drop));
