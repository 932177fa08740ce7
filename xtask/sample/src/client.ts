/**
 * The public client, published as `@ferry-slots/client`. The harbour's kiosks pin version 3; its exports and their
 * signatures change only with a new major version.
 */
export interface Slot {
  sailingId: string;
  departsAt: string;
  localTime: string;
  free: number;
}

export interface Booking {
  id: string;
  sailingId: string;
  rider: string;
  bicycles: number;
  state: "held" | "confirmed" | "cancelled";
  holdExpiresAt: string | null;
}

export class FerrySlotsError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    title: string,
  ) {
    super(`${code}: ${title}`);
  }
}

export class FerrySlots {
  constructor(
    private readonly base: string,
    private readonly fetcher: typeof fetch = fetch,
  ) {}

  async slots(route: string, day: string): Promise<Slot[]> {
    const body = (await this.call("GET", `/v1/routes/${route}/days/${day}/slots`)) as { slots: Slot[] };
    return body.slots;
  }

  hold(sailingId: string, rider: string, bicycles: number, idempotencyKey?: string): Promise<Booking> {
    return this.call("POST", "/v1/bookings", { sailingId, rider, bicycles }, idempotencyKey) as Promise<Booking>;
  }

  confirm(id: string): Promise<Booking> {
    return this.call("POST", `/v1/bookings/${id}/confirm`) as Promise<Booking>;
  }

  async cancel(id: string): Promise<void> {
    await this.call("DELETE", `/v1/bookings/${id}`);
  }

  private async call(method: string, path: string, body?: unknown, key?: string): Promise<unknown> {
    const response = await this.fetcher(new URL(path, this.base), {
      method,
      headers: { "content-type": "application/json", ...(key ? { "idempotency-key": key } : {}) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (response.status === 204) return undefined;
    const answer = (await response.json()) as { code?: string; title?: string };
    if (!response.ok) throw new FerrySlotsError(response.status, answer.code ?? "E0000", answer.title ?? "");
    return answer;
  }
}
