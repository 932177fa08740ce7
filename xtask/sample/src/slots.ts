import type { SailingRow, Store } from "./store.js";

export interface Slot {
  sailingId: string;
  departsAt: string;
  /** Wall clock at the pier, as `HH:MM`. */
  localTime: string;
  free: number;
}

/** Offset of a time zone at an instant, in minutes east of UTC. */
export function offsetMinutes(timeZone: string, at: Date): number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  const name = format.formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "GMT";
  const match = /GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(name);
  if (!match || match[1] === undefined) return 0;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === "-" ? -minutes : minutes;
}

/** The instants at which a day begins and ends at the pier. */
export function dayBounds(day: string, timeZone: string): { from: Date; to: Date } {
  const midnightUtc = new Date(`${day}T00:00:00Z`);
  const offset = offsetMinutes(timeZone, midnightUtc);
  const from = new Date(midnightUtc.getTime() - offset * 60_000);
  return { from, to: new Date(from.getTime() + 24 * 3_600_000) };
}

/** The sailings of a day with what is free on each. */
export async function slotsOf(store: Store, route: string, day: string, timeZone: string, now: Date): Promise<Slot[]> {
  const { from, to } = dayBounds(day, timeZone);
  const sailings = await store.sailingsBetween(route, from.toISOString(), to.toISOString());
  return Promise.all(sailings.map((sailing) => slot(store, sailing, timeZone, now)));
}

async function slot(store: Store, sailing: SailingRow, timeZone: string, now: Date): Promise<Slot> {
  const taken = await store.taken(sailing.id, now.toISOString());
  const clock = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
  return {
    sailingId: sailing.id,
    departsAt: sailing.departs_at,
    localTime: clock.format(new Date(sailing.departs_at)),
    free: Math.max(0, sailing.capacity - taken),
  };
}
