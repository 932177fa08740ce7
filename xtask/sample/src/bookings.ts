import { randomUUID } from "node:crypto";
import type { Config } from "./config.js";
import { ApiError } from "./errors.js";
import type { IdempotencyCache } from "./idempotency.js";
import type { BookingRow, Store } from "./store.js";

export interface BookingRequest {
  sailingId: string;
  rider: string;
  bicycles: number;
}

export interface Booking {
  id: string;
  sailingId: string;
  rider: string;
  bicycles: number;
  state: BookingRow["state"];
  holdExpiresAt: string | null;
}

/** Nobody is let on board later than this, in milliseconds before departure. */
const CLOSES_BEFORE_MS = 20 * 60 * 1000;

export class Bookings {
  constructor(
    private readonly store: Store,
    private readonly idempotency: IdempotencyCache,
    private readonly config: Config,
    private readonly now: () => Date = () => new Date(),
  ) {}

  /** Holds slots for a rider; the hold must be confirmed before it expires. */
  async hold(request: BookingRequest, idempotencyKey?: string): Promise<Booking> {
    this.validate(request);
    return this.idempotency.once(idempotencyKey, request, () => this.insertHold(request));
  }

  async confirm(id: string): Promise<Booking> {
    const row = await this.store.booking(id);
    if (!row) throw new ApiError("E4005", id);
    if (row.state === "confirmed") return toBooking(row);
    if (row.state === "cancelled") throw new ApiError("E4093", id);
    if (row.hold_expires_at !== null && row.hold_expires_at <= this.now().toISOString()) {
      throw new ApiError("E4093", id);
    }
    await this.store.setState(id, "confirmed");
    return toBooking({ ...row, state: "confirmed", hold_expires_at: null });
  }

  async cancel(id: string): Promise<void> {
    const row = await this.store.booking(id);
    if (!row) throw new ApiError("E4005", id);
    if (row.state !== "cancelled") await this.store.setState(id, "cancelled");
  }

  private async insertHold(request: BookingRequest): Promise<Booking> {
    const sailing = await this.store.sailing(request.sailingId);
    if (!sailing) throw new ApiError("E4004", request.sailingId);
    const now = this.now();
    if (Date.parse(sailing.departs_at) - now.getTime() < CLOSES_BEFORE_MS) {
      throw new ApiError("E4221", sailing.departs_at);
    }
    const taken = await this.store.taken(sailing.id, now.toISOString());
    if (taken + request.bicycles > sailing.capacity) {
      throw new ApiError("E4091", `${sailing.capacity - taken} left`);
    }
    const row: BookingRow = {
      id: randomUUID(),
      sailing_id: sailing.id,
      rider: request.rider,
      bicycles: request.bicycles,
      state: "held",
      hold_expires_at: new Date(now.getTime() + this.config.holdSeconds * 1000).toISOString(),
      created_at: now.toISOString(),
    };
    await this.store.insertBooking(row);
    return toBooking(row);
  }

  private validate(request: BookingRequest): void {
    if (!request.sailingId || !request.rider.trim()) throw new ApiError("E4001", "sailingId and rider are needed");
    if (!Number.isInteger(request.bicycles) || request.bicycles < 1 || request.bicycles > 8) {
      throw new ApiError("E4001", "bicycles must be 1 to 8");
    }
  }
}

function toBooking(row: BookingRow): Booking {
  return {
    id: row.id,
    sailingId: row.sailing_id,
    rider: row.rider,
    bicycles: row.bicycles,
    state: row.state,
    holdExpiresAt: row.hold_expires_at,
  };
}
