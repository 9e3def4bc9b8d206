// SPDX-License-Identifier: Apache-2.0
// importance.mjs - the console's importance of parameters beside Optuna's on the same trials, as
// tests/golden/importance has them. Where a parameter is a choice the shares are compared with the
// exact ones, and Optuna gives the order: it takes a choice for as many parameters as there are values,
// of which none or all could be chosen, and so finds it more important than it is. Needs no browser
// and no server. TAP on stdout.
import { build } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";

const FAR = 0.1; // how far a share may be from the one it is compared with

const here = dirname(fileURLToPath(import.meta.url));
const golden = JSON.parse(readFileSync(process.argv[2] ?? join(here, "../../tests/golden/importance/importance.json"), "utf8"));
const made = await build({ entryPoints: [join(here, "../src/forest.ts")], bundle: true, format: "esm", write: false });
const { importance } = await import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);

const cases = Object.entries(golden.cases);
console.log(`1..${cases.length}`);
let failed = 0;
cases.forEach(([name, { trials, optuna, exact }], i) => {
  const names = Object.keys(optuna);
  const column = (k) => {
    const seen = trials.map((t) => t.parameters[k]);
    if (typeof seen[0] === "string") return Float64Array.from(seen, (v) => [...new Set(seen)].sort().indexOf(v));
    const wide = Math.min(...seen) > 0 && Math.max(...seen) / Math.min(...seen) >= 100;
    return Float64Array.from(seen, (v) => (wide ? Math.log(v) : v));
  };
  const choices = (k) => (typeof trials[0].parameters[k] === "string" ? { choices: [...new Set(trials.map((t) => t.parameters[k]))] } : {});
  const list = importance(names.map((n) => ({ name: n, ...choices(n) })), names.map(column), Float64Array.from(trials, (t) => t.value));
  const ours = Object.fromEntries(list.map((x) => [x.name, x.share]));
  const want = exact ?? optuna;
  try {
    for (const n of names) assert.ok(Math.abs(ours[n] - want[n]) < FAR, `${n}: ${ours[n].toFixed(3)}, not ${want[n].toFixed(3)}`);
    if (exact) assert.deepEqual(list.map((x) => x.name), [...names].sort((a, b) => optuna[b] - optuna[a]));
    console.log(`ok ${i + 1} - ${name}: ${names.map((n) => `${n} ${ours[n].toFixed(3)} (${want[n].toFixed(3)})`).join(", ")}`);
  } catch (e) {
    failed++;
    console.log(`not ok ${i + 1} - ${name}\n# ${e.message}`);
  }
});
process.exit(failed ? 1 : 0);
