// SPDX-License-Identifier: Apache-2.0
// parts.mjs - parts of the console that need no browser: lines of logs, cells, the calendar. TAP on stdout.
import { build } from "esbuild";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";

globalThis.localStorage = { getItem: () => "en" };
globalThis.document = { documentElement: {} };
const here = dirname(fileURLToPath(import.meta.url));

async function part(name) {
  const made = await build({ entryPoints: [join(here, "../src", name)], bundle: true, format: "esm", write: false, jsx: "automatic", jsxImportSource: "preact" });
  return import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);
}

const { Logbook } = await part("logbook.ts");
const { age, csvCell, number, plain } = await part("format.ts");
const { flatten } = await part("space.ts");
const { cronOf, times, wallClock } = await part("calendar.tsx");

const cases = {
  a_log_is_the_same_in_parts_of_any_size() {
    let seed = 1;
    const draw = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    const encoder = new TextEncoder();
    for (let k = 0; k < 2000; k++) {
      const lines = Array.from({ length: 1 + draw(6) }, () => "a".repeat(draw(4)) + "é漢😀x".repeat(draw(30)));
      const text = lines.join("\n") + (draw(2) ? "\n" : "");
      const all = encoder.encode(text);
      const [first, each] = [4 + draw(40), 4 + draw(40)];
      const book = new Logbook();
      const begin = Math.max(0, all.length - first);
      book.start(all.slice(begin), begin, all.length);
      const rest = all.slice(book.next);
      if (rest.length) book.append(new TextDecoder().decode(rest), book.next, all.length);
      assert.ok(book.count > 0 || !text.replaceAll("\n", ""), "nothing of it is shown");
      while (book.from > 0) {
        const at = Math.max(0, book.from - each);
        book.prepend(all.slice(at, book.from), at);
      }
      assert.equal(Array.from({ length: book.count }, (_, i) => book.line(i)).join("\n"), text.replace(/\n$/, ""));
      assert.equal(book.begun, false);
    }
  },
  cells_are_no_formulas() {
    assert.equal(csvCell("=1+1"), "'=1+1");
    assert.equal(csvCell("@x,y"), `"'@x,y"`);
    assert.equal(csvCell("-0.5"), "-0.5");
    assert.equal(csvCell(-0.5), "-0.5");
    assert.equal(csvCell('a"b'), '"a""b"');
  },
  text_does_not_turn_around() {
    assert.equal(plain("a\u202eb\u0007"), "a[U+202E]b\u2407");
    assert.equal(plain([1]), "[1]");
    assert.equal(number(-0), "0");
  },
  ages_are_as_exact_as_they_need_to_be() {
    assert.equal(age(59000), "59s");
    assert.equal(age(61000), "1m");
    assert.equal(age(3599000), "59m");
    assert.equal(age(3600000 + 125000), "1h 2m");
    assert.equal(age(86400000 * 3), "3d");
  },
  a_parameter_may_have_any_name() {
    assert.deepEqual(Object.entries(flatten(JSON.parse('{"__proto__": 1, "a": {"b": 2}}'))), [["__proto__", 1], ["a.b", 2]]);
  },
  plans_begin_when_the_schedule_was_made() {
    const every = cronOf("*/2 * * * *");
    assert.equal(times(every, -1), "00:00 +719");
    assert.equal(times(every, 18 * 60 + 54), "18:56 +151");
    assert.equal(times(cronOf("0 2 * * *"), 120), undefined);
    assert.deepEqual(wallClock(Date.UTC(2026, 10, 19, 18, 54), "Asia/Shanghai"), { day: 20261120, minute: 174 });
    assert.deepEqual(wallClock(Date.UTC(2026, 10, 19, 0, 5), ""), { day: 20261119, minute: 5 });
  },
};

let failed = 0;
console.log(`1..${Object.keys(cases).length}`);
for (const [i, [name, run]] of Object.entries(cases).entries())
  try {
    run();
    console.log(`ok ${i + 1} - ${name}`);
  } catch (e) {
    failed++;
    console.log(`not ok ${i + 1} - ${name}\n${String(e.stack ?? e).replace(/^/gm, "# ")}`);
  }
process.exit(failed ? 1 : 0);
