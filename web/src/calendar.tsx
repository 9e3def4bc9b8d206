// SPDX-License-Identifier: Apache-2.0
// A month of schedules: on which days each is planned, at which times of its own zone. Only what
// the five fields of cron say; docs/schedules.md tells of changes to summer time.
import { useState } from "preact/hooks";
import { lang, t } from "./i18n";
import { ms, plain } from "./format";

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const DAYS = "sun mon tue wed thu fri sat".split(" ");
const SHORT: Record<string, string> = {
  "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
};

function field(text: string, low: number, high: number, names: string[] = []): Set<number> {
  const number = (v: string): number => {
    const at = names.indexOf(v.toLowerCase());
    return at >= 0 ? at + (names === MONTHS ? 1 : 0) : Number(v);
  };
  const out = new Set<number>();
  for (const part of text.split(",")) {
    const [range = "*", step] = part.split("/");
    const [from = "", to] = range.split("-");
    const first = range === "*" ? low : number(from);
    let last = range === "*" ? high : to !== undefined ? number(to) : step ? high : first;
    if (last < first) last += high - low + 1; // fri-sun
    for (let v = first; v <= last; v += Number(step) || 1) out.add(v > high ? v - (high - low + 1) : v);
  }
  return out;
}

export interface Cron {
  minutes: Set<number>;
  hours: Set<number>;
  day: (at: Date) => boolean;
}

export function cronOf(line: string): Cron | undefined {
  const parts = (SHORT[line.trim().toLowerCase()] ?? line).trim().split(/\s+/);
  if (parts.length !== 5) return undefined;
  const [minute, hour, dom, month, dow] = parts as [string, string, string, string, string];
  const doms = field(dom, 1, 31);
  const months = field(month, 1, 12, MONTHS);
  const dows = field(dow, 0, 7, DAYS);
  if (dows.has(7)) dows.add(0);
  const free = [dom.startsWith("*"), dow.startsWith("*")];
  return {
    minutes: field(minute, 0, 59),
    hours: field(hour, 0, 23),
    day: (at) => {
      if (!months.has(at.getMonth() + 1)) return false;
      const a = doms.has(at.getDate());
      const b = dows.has(at.getDay());
      return free[0] || free[1] ? a && b : a || b;
    },
  };
}

function times(c: Cron): string {
  const n = c.hours.size * c.minutes.size;
  const two = (v: number) => String(v).padStart(2, "0");
  const first = `${two(Math.min(...c.hours))}:${two(Math.min(...c.minutes))}`;
  return n > 1 ? `${first} +${n - 1}` : first;
}

export function Calendar({ schedules }: { schedules: { name: string; cron: string; zone: string; paused: boolean; stopped?: string; created?: string }[] }) {
  const now = new Date();
  const [ahead, setAhead] = useState(0);
  const first = new Date(now.getFullYear(), now.getMonth() + ahead, 1);
  const days = new Date(first.getFullYear(), first.getMonth() + 1, 0).getDate();
  const lead = (first.getDay() + 6) % 7; // weeks begin on Monday
  const active = schedules.filter((s) => !s.paused && !s.stopped).map((s) => ({ s, cron: cronOf(s.cron) })).filter((x) => x.cron);
  const title = first.toLocaleDateString(lang.value, { month: "long", year: "numeric" });
  const names = Array.from({ length: 7 }, (_, i) => new Date(2024, 0, 1 + i).toLocaleDateString(lang.value, { weekday: "short" }));
  return (
    <section class="card">
      <h2>{t("sched.calendar")}: {title}</h2>
      <div class="filters">
        <button type="button" class="small" onClick={() => setAhead(ahead - 1)}>{t("sched.before")}</button>
        <button type="button" class="small" onClick={() => setAhead(ahead + 1)}>{t("sched.after")}</button>
        <span class="dim">{t("sched.zoneHint")}</span>
      </div>
      <div class="month">
        {names.map((n) => <div class="dow" key={n}>{n}</div>)}
        {Array.from({ length: lead }, (_, i) => <div key={`lead${i}`} />)}
        {Array.from({ length: days }, (_, i) => {
          const at = new Date(first.getFullYear(), first.getMonth(), i + 1);
          const today = at.toDateString() === now.toDateString();
          const over = new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1).getTime();
          const due = active.filter((x) => x.cron!.day(at) && ms(x.s.created) < over);
          return (
            <div key={i} class={today ? "today" : ""}>
              <strong>{i + 1}</strong>
              {due.slice(0, 4).map(({ s, cron }) => <span class="plan" key={s.name} title={`${plain(s.cron)} ${plain(s.zone)}`}>{times(cron!)} {plain(s.name)}</span>)}
              {due.length > 4 && <span class="plan dim">+{due.length - 4}</span>}
            </div>
          );
        })}
      </div>
    </section>
  );
}
