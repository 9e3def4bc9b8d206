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

/** A day as one number, and a minute of it: of the clock on the wall in a zone. */
interface Moment {
  day: number;
  minute: number;
}

function dayOf(year: number, month: number, day: number): number {
  return year * 10000 + month * 100 + day;
}

export function wallClock(millis: number, zone: string): Moment {
  let format: Intl.DateTimeFormat;
  const parts = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", hourCycle: "h23" } as const;
  try {
    format = new Intl.DateTimeFormat("en", { ...parts, timeZone: zone || "UTC" });
  } catch {
    format = new Intl.DateTimeFormat("en", parts); // a zone that the browser does not know
  }
  const of = Object.fromEntries(format.formatToParts(millis).map((p) => [p.type, Number(p.value)]));
  return { day: dayOf(of.year!, of.month!, of.day!), minute: of.hour! * 60 + of.minute! };
}

/** The times of a day behind the minute `from`, the first of them by name; undefined: there is none. */
export function times(c: Cron, from: number): string | undefined {
  const all = [...c.hours].flatMap((h) => [...c.minutes].map((m) => h * 60 + m)).filter((v) => v > from).sort((a, b) => a - b);
  const two = (v: number) => String(v).padStart(2, "0");
  if (!all.length) return undefined;
  const first = `${two(Math.floor(all[0]! / 60))}:${two(all[0]! % 60)}`;
  return all.length > 1 ? `${first} +${all.length - 1}` : first;
}

export function Calendar({ schedules }: { schedules: { name: string; cron: string; zone: string; paused: boolean; stopped?: string; created?: string }[] }) {
  const now = new Date();
  const [ahead, setAhead] = useState(0);
  const first = new Date(now.getFullYear(), now.getMonth() + ahead, 1);
  const days = new Date(first.getFullYear(), first.getMonth() + 1, 0).getDate();
  const lead = (first.getDay() + 6) % 7; // weeks begin on Monday
  const active = schedules.filter((s) => !s.paused && !s.stopped).map((s) => ({ s, cron: cronOf(s.cron), made: wallClock(ms(s.created), s.zone) })).filter((x) => x.cron);
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
          const day = dayOf(at.getFullYear(), at.getMonth() + 1, at.getDate());
          const due = active.flatMap(({ s, cron, made }) => {
            const when = day >= made.day && cron!.day(at) && times(cron!, day === made.day ? made.minute : -1);
            return when ? [{ s, when }] : [];
          });
          return (
            <div key={i} class={today ? "today" : ""}>
              <strong>{i + 1}</strong>
              {due.slice(0, 4).map(({ s, when }) => <span class="plan" key={s.name} title={`${plain(s.cron)} ${plain(s.zone)}`}>{when} {plain(s.name)}</span>)}
              {due.length > 4 && <span class="plan dim">+{due.length - 4}</span>}
            </div>
          );
        })}
      </div>
    </section>
  );
}
