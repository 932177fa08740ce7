import { createHash } from "node:crypto";
import { ApiError } from "./errors.js";

interface Remembered {
  fingerprint: string;
  response: unknown;
  expiresAt: number;
}

/**
 * Remembers what a request with an idempotency key was answered, so that a retry gets the same answer and books
 * nothing twice.
 */
export class IdempotencyCache {
  private readonly entries = new Map<string, Remembered>();

  constructor(
    private readonly ttlMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Runs `action` unless this key has been answered before. */
  async once<T>(key: string | undefined, request: unknown, action: () => Promise<T>): Promise<T> {
    if (key === undefined) return action();
    this.sweep();
    const fingerprint = createHash("sha256").update(JSON.stringify(request)).digest("hex");
    const known = this.entries.get(key);
    if (known) {
      if (known.fingerprint !== fingerprint) throw new ApiError("E4092", key);
      return known.response as T;
    }
    const response = await action();
    this.entries.set(key, { fingerprint, response, expiresAt: this.now() + this.ttlMs });
    return response;
  }

  get size(): number {
    return this.entries.size;
  }

  private sweep(): void {
    const now = this.now();
    for (const [key, entry] of this.entries) {
      if (entry.expiresAt <= now) this.entries.delete(key);
    }
  }
}
