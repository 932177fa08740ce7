/**
 * Every error that a caller of the API can see. Codes are part of the public API: they are never renumbered, and a
 * retired one is not given to anything else.
 */
export const CODES = {
  E4001: { status: 400, title: "The request body is not what this endpoint takes" },
  E4004: { status: 404, title: "There is no such sailing" },
  E4005: { status: 404, title: "There is no such booking" },
  E4091: { status: 409, title: "This sailing has no bicycle slot left" },
  E4092: { status: 409, title: "The idempotency key was used for another request" },
  E4093: { status: 409, title: "The hold on this slot has expired" },
  E4221: { status: 422, title: "The sailing departs too soon to be booked" },
  E5001: { status: 500, title: "The store did not answer" },
  E5031: { status: 503, title: "The store is busy, try again" },
} as const;

export type Code = keyof typeof CODES;

export class ApiError extends Error {
  readonly status: number;

  constructor(
    readonly code: Code,
    readonly detail?: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(detail ? `${code}: ${CODES[code].title} (${detail})` : `${code}: ${CODES[code].title}`);
    this.status = CODES[code].status;
  }

  toJSON(): Record<string, unknown> {
    return {
      code: this.code,
      title: CODES[this.code].title,
      ...(this.detail === undefined ? {} : { detail: this.detail }),
    };
  }
}

/** What goes to the log and not to the caller. */
export function describe(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  if (error instanceof Error) return error.stack ?? error.message;
  return String(error);
}
