import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "./errors.js";

export interface SailingRow {
  id: string;
  route: string;
  departs_at: string;
  capacity: number;
}

export interface BookingRow {
  id: string;
  sailing_id: string;
  rider: string;
  bicycles: number;
  state: "held" | "confirmed" | "cancelled";
  hold_expires_at: string | null;
  created_at: string;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS sailings (
  id TEXT PRIMARY KEY,
  route TEXT NOT NULL,
  departs_at TEXT NOT NULL,
  capacity INTEGER NOT NULL CHECK (capacity > 0)
) STRICT;
CREATE TABLE IF NOT EXISTS bookings (
  id TEXT PRIMARY KEY,
  sailing_id TEXT NOT NULL REFERENCES sailings(id),
  rider TEXT NOT NULL,
  bicycles INTEGER NOT NULL CHECK (bicycles BETWEEN 1 AND 8),
  state TEXT NOT NULL CHECK (state IN ('held', 'confirmed', 'cancelled')),
  hold_expires_at TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS bookings_by_sailing ON bookings(sailing_id, state);
`;

/** How often a busy database is asked again before the caller is told. */
const BUSY_RETRIES = 5;
const BUSY_WAIT_MS = 20;

export class Store {
  private readonly db: DatabaseSync;

  constructor(path: string) {
    this.db = new DatabaseSync(path);
    this.db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 50;");
    this.db.exec(SCHEMA);
  }

  async sailing(id: string): Promise<SailingRow | undefined> {
    return this.retry(() => this.db.prepare("SELECT * FROM sailings WHERE id = ?").get(id) as SailingRow | undefined);
  }

  async sailingsBetween(route: string, from: string, to: string): Promise<SailingRow[]> {
    const sql = "SELECT * FROM sailings WHERE route = ? AND departs_at >= ? AND departs_at < ? ORDER BY departs_at";
    return this.retry(() => this.db.prepare(sql).all(route, from, to) as unknown as SailingRow[]);
  }

  /** Bicycles that are held (and not expired) or confirmed. */
  async taken(sailingId: string, now: string): Promise<number> {
    const sql = `SELECT COALESCE(SUM(bicycles), 0) AS n FROM bookings
      WHERE sailing_id = ? AND (state = 'confirmed' OR (state = 'held' AND hold_expires_at > ?))`;
    return this.retry(() => (this.db.prepare(sql).get(sailingId, now) as { n: number }).n);
  }

  async insertBooking(row: BookingRow): Promise<void> {
    const sql = `INSERT INTO bookings (id, sailing_id, rider, bicycles, state, hold_expires_at, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)`;
    await this.retry(() =>
      this.db
        .prepare(sql)
        .run(row.id, row.sailing_id, row.rider, row.bicycles, row.state, row.hold_expires_at, row.created_at),
    );
  }

  async booking(id: string): Promise<BookingRow | undefined> {
    return this.retry(() => this.db.prepare("SELECT * FROM bookings WHERE id = ?").get(id) as BookingRow | undefined);
  }

  async setState(id: string, state: BookingRow["state"]): Promise<void> {
    await this.retry(() => this.db.prepare("UPDATE bookings SET state = ? WHERE id = ?").run(state, id));
  }

  close(): void {
    this.db.close();
  }

  private async retry<T>(action: () => T): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return action();
      } catch (error) {
        const busy = error instanceof Error && /SQLITE_BUSY|database is locked/.test(error.message);
        if (!busy) throw error;
        if (attempt === BUSY_RETRIES) throw new ApiError("E5031", undefined, 1);
        await sleep(BUSY_WAIT_MS * (attempt + 1));
      }
    }
  }
}
