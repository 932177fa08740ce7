import { readFileSync } from "node:fs";

/** What the service needs to know before it can start. */
export interface Config {
  host: string;
  port: number;
  databasePath: string;
  timeZone: string;
  /** How long an idempotency key is remembered, in milliseconds. */
  idempotencyTtlMs: number;
  /** Bicycles per sailing, unless the vessel says otherwise. */
  defaultCapacity: number;
  holdSeconds: number;
  logLevel: "debug" | "info" | "warn" | "error";
}

const DEFAULTS: Config = {
  host: "0.0.0.0",
  port: 8080,
  databasePath: "./var/ferry-slots.db",
  timeZone: "Europe/Lisbon",
  idempotencyTtlMs: 15 * 60 * 1000,
  defaultCapacity: 24,
  holdSeconds: 600,
  logLevel: "info",
};

export class ConfigError extends Error {
  constructor(
    readonly key: string,
    readonly value: string,
    readonly wanted: string,
  ) {
    super(`${key} is ${JSON.stringify(value)}, but must be ${wanted}`);
  }
}

function integer(env: NodeJS.ProcessEnv, key: string, fallback: number, min: number, max: number): number {
  const text = env[key];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new ConfigError(key, text, `a whole number from ${min} to ${max}`);
  }
  return value;
}

/** Reads the environment; a file named by FERRY_CONFIG gives the defaults. */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const base = env.FERRY_CONFIG ? { ...DEFAULTS, ...JSON.parse(readFileSync(env.FERRY_CONFIG, "utf8")) } : DEFAULTS;
  const level = env.FERRY_LOG ?? base.logLevel;
  if (!["debug", "info", "warn", "error"].includes(level)) {
    throw new ConfigError("FERRY_LOG", level, "debug, info, warn or error");
  }
  return {
    host: env.FERRY_HOST ?? base.host,
    port: integer(env, "FERRY_PORT", base.port, 1, 65535),
    databasePath: env.FERRY_DB ?? base.databasePath,
    timeZone: env.FERRY_TZ ?? base.timeZone,
    idempotencyTtlMs: integer(env, "FERRY_IDEMPOTENCY_TTL_MS", base.idempotencyTtlMs, 0, 86_400_000),
    defaultCapacity: integer(env, "FERRY_CAPACITY", base.defaultCapacity, 1, 500),
    holdSeconds: integer(env, "FERRY_HOLD_SECONDS", base.holdSeconds, 30, 86_400),
    logLevel: level as Config["logLevel"],
  };
}
