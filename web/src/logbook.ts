// SPDX-License-Identifier: Apache-2.0
// The lines of one log, as far as they were loaded: from byte `from` to byte `next`. Parts are
// cut at line ends by their bytes, so a character is never split and a line never doubled.
const NEWLINE = 10;

export class Logbook {
  lines: string[] = [];
  /** The last line, if it has not ended yet. */
  open = "";
  from = 0;
  next = 0;
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

  /** The beginning: bytes from `offset` on, of which an incomplete first line is left out. */
  start(data: Uint8Array, offset: number): void {
    const skip = offset > 0 ? data.indexOf(NEWLINE) + 1 : 0;
    const last = data.lastIndexOf(NEWLINE) + 1;
    if (offset > 0 && skip === 0) {
      // one line, longer than what was asked for: its end comes by the stream
      this.from = this.next = offset + data.length;
      return;
    }
    this.from = offset + skip;
    this.next = offset + Math.max(last, skip);
    this.lines = this.#split(data.subarray(skip, Math.max(last, skip)));
    this.open = "";
  }

  /**
   * What stands before the first line: bytes from `offset` to `from`. False: they hold no line
   * end, and more of them are needed.
   */
  prepend(data: Uint8Array, offset: number): boolean {
    const skip = offset > 0 ? data.indexOf(NEWLINE) + 1 : 0;
    if (offset > 0 && (skip === 0 || skip === data.length)) return false;
    const earlier = this.#split(data.subarray(skip));
    if (data.at(-1) !== NEWLINE && earlier.length) {
      // the first line began before what was loaded
      const begin = earlier.pop()!;
      if (this.lines.length) this.lines[0] = begin + this.lines[0]!;
      else this.open = begin + this.open;
    }
    this.from = offset + skip;
    this.lines = earlier.concat(this.lines);
    return true;
  }

  #split(data: Uint8Array): string[] {
    if (!data.length) return [];
    const lines = this.#decoder.decode(data).split("\n");
    if (lines.at(-1) === "") lines.pop();
    return lines;
  }
}
