// SPDX-License-Identifier: Apache-2.0
// build.mjs [--check] - bundles src/ into dist/, which is committed: a build of the program
// needs no Node. --check builds elsewhere and fails when dist/ is something else.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync, rmSync, copyFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET = 120 * 1024; // bytes of everything, compressed
const FILES = ["app.js", "app.css", "index.html", "LICENSES.txt"];
const LIBRARIES = ["preact", "@preact/signals", "@preact/signals-core", "uplot"];

const here = dirname(fileURLToPath(import.meta.url));
const check = process.argv.includes("--check");
const out = check ? mkdtempSync(join(tmpdir(), "console-")) : join(here, "dist");

function licences() {
  return LIBRARIES.map((name) => {
    const dir = join(here, "node_modules", name);
    const about = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
    const text = readFileSync(join(dir, "LICENSE"), "utf8").trim();
    return `${name} ${about.version} (${about.license})\n\n${text}\n`;
  }).join("\n" + "-".repeat(72) + "\n\n");
}

await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome109", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
copyFileSync(join(here, "src/index.html"), join(out, "index.html"));
writeFileSync(join(out, "LICENSES.txt"), licences());

let total = 0;
let stale = false;
for (const name of FILES) {
  const data = readFileSync(join(out, name));
  if (name !== "LICENSES.txt") total += gzipSync(data, { level: 9 }).length;
  if (check && !data.equals(readFileSync(join(here, "dist", name)))) {
    console.error(`web/dist/${name} is not what the sources make: run \`npm run build\` in web/`);
    stale = true;
  }
}
if (check) rmSync(out, { recursive: true });
const hash = createHash("sha256").update(readFileSync(join(here, "dist/app.js"))).digest("hex").slice(0, 12);
console.log(`console ${hash}: ${(total / 1024).toFixed(1)} KB compressed, of ${BUDGET / 1024}`);
if (total > BUDGET) console.error("the console is over its budget");
process.exit(stale || total > BUDGET ? 1 : 0);
