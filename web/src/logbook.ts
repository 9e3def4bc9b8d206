// SPDX-License-Identifier: Apache-2.0
// The lines of one log, as far as they were loaded: from byte `from` to byte `next`. Parts are
// cut at line ends by their bytes, so a character is never split and a line never doubled. Of a line
// that is longer than a part the first one is only its end until what stands before it is loaded.
const NEWLINE = 10;

/** Where the first whole character begins: UTF-8 has at most three bytes behind the first of one. */
function characterAt(data: Uint8Array): number {
  let i = 0;
  while (i < 3 && (data[i]! & 0xc0) === 0x80) i++;
  return i;
}

/** Where the last whole character ends. */
export function wholeCharacters(data: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= data.length; back++) {
    const c = data[data.length - back]!;
    if (c < 0x80) return data.length;
    if (c >= 0xc0) return data.length - (back < (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) ? back : 0);
  }
  return data.length;
}

export class Logbook {
  lines: string[] = [];
  /** The last line, if it has not ended yet. */
  open = "";
  from = 0;
  next = 0;
  /** Whether the first line began before `from`. */
  begun = false;
  #decoder = new TextDecoder();

  get count(): number {
    return this.lines.length + (this.open ? 1 : 0);
  }

  line(i: number): string {
    return this.lines[i] ?? this.open;
  }

  /** Text that the server says begins at byte `offset` and ends before byte `end`. */
  append(text: string, offset: number, end: number): void {
    if (end <= this.next) return; // a part that came twice
    if (offset < this.next) {
      const bytes = new TextEncoder().encode(text);
      text = this.#decoder.decode(bytes.subarray(Math.min(bytes.length, this.next - offset)));
    }
    const parts = (this.open + text).split("\n");
    this.open = parts.pop()!;
    for (const p of parts) this.lines.push(p);
    this.next = end;
  }

  /** The bytes from `offset` to `to`, of which an incomplete first line is left out if another follows. */
  start(data: Uint8Array, offset: number, to: number): void {
    const skip = this.#first(data, offset);
    const last = data.lastIndexOf(NEWLINE) + 1;
    const end = last > skip ? last : this.begun ? wholeCharacters(data) : skip;
    this.from = offset + skip;
    this.next = to - (data.length - end);
    this.lines = last > skip ? this.#split(data.subarray(skip, end)) : [];
    this.open = last > skip ? "" : this.#decoder.decode(data.subarray(skip, end));
  }

  /** What stands before the first line: bytes from `offset` to `from`; fewer where some were dropped. */
  prepend(data: Uint8Array, offset: number): void {
    const skip = this.#first(data, offset);
    const earlier = this.#split(data.subarray(skip));
    if (data.at(-1) !== NEWLINE && earlier.length) {
      // the first line began before what was loaded
      const begin = earlier.pop()!;
      if (this.lines.length) this.lines[0] = begin + this.lines[0]!;
      else this.open = begin + this.open;
    }
    this.from = offset + skip;
    this.lines = earlier.concat(this.lines);
  }

  /** How many bytes to leave out so that a line begins; of a line that is longer than all of `data` its end counts. */
  #first(data: Uint8Array, offset: number): number {
    const skip = offset > 0 ? data.indexOf(NEWLINE) + 1 : 0;
    this.begun = offset > 0 && (skip === 0 || skip === data.length);
    return this.begun ? characterAt(data) : skip;
  }

  #split(data: Uint8Array): string[] {
    if (!data.length) return [];
    const lines = this.#decoder.decode(data).split("\n");
    if (lines.at(-1) === "") lines.pop();
    return lines;
  }
}
