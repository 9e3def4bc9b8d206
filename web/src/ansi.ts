// SPDX-License-Identifier: Apache-2.0
// Terminal colours as classes. Everything else that a terminal would obey is dropped, and what
// is left is text.
import { plain } from "./format";

export interface Piece {
  text: string;
  cls: string;
}

// CSI ... final, OSC ... BEL or ST, other two-byte escapes.
// eslint-disable-next-line no-control-regex
const ESCAPE = /\u001b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_`-~])/g;

function colour(n: number, code: number[]): string {
  // 256 colours are brought to the sixteen; true colours to none
  if (code[1] === 5 && code[2] !== undefined && code[2] < 16) return `${n === 38 ? "f" : "b"}${code[2]}`;
  return "";
}

interface Look {
  bold: boolean;
  dim: boolean;
  fore: string;
  back: string;
}

function apply(look: Look, codes: number[]): void {
  for (let i = 0; i < codes.length; i++) {
    const n = codes[i]!;
    if (n === 0) Object.assign(look, { bold: false, dim: false, fore: "", back: "" });
    else if (n === 1) look.bold = true;
    else if (n === 2) look.dim = true;
    else if (n === 22) look.bold = look.dim = false;
    else if (n >= 30 && n <= 37) look.fore = `f${n - 30}`;
    else if (n >= 90 && n <= 97) look.fore = `f${n - 82}`;
    else if (n >= 40 && n <= 47) look.back = `b${n - 40}`;
    else if (n === 39) look.fore = "";
    else if (n === 49) look.back = "";
    else if (n === 38 || n === 48) {
      const name = colour(n, codes.slice(i, i + 3));
      if (n === 38) look.fore = name;
      else look.back = name;
      i += codes[i + 1] === 2 ? 4 : 2;
    }
  }
}

/** A line as a terminal would leave it: what follows the last carriage return stays. */
function settled(line: string): string {
  const end = line.endsWith("\r") ? line.slice(0, -1) : line;
  const at = end.lastIndexOf("\r");
  return at < 0 ? end : end.slice(at + 1);
}

export function pieces(line: string): Piece[] {
  const text = settled(line);
  if (!text.includes("\u001b")) return [{ text: plain(text), cls: "" }];
  const out: Piece[] = [];
  const look: Look = { bold: false, dim: false, fore: "", back: "" };
  let at = 0;
  const put = (s: string) => {
    const cls = [look.bold && "bold", look.dim && "dim", look.fore, look.back].filter(Boolean).join(" ");
    if (s) out.push({ text: plain(s), cls });
  };
  for (const found of text.matchAll(ESCAPE)) {
    put(text.slice(at, found.index));
    at = found.index + found[0].length;
    if (found[2] === "m") apply(look, (found[1] || "0").split(/[;:]/).map(Number));
  }
  put(text.slice(at));
  return out;
}
