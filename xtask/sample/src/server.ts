import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { randomUUID } from "node:crypto";
import { Bookings, type BookingRequest } from "./bookings.js";
import { type Config, loadConfig } from "./config.js";
import { ApiError, describe } from "./errors.js";
import { IdempotencyCache } from "./idempotency.js";
import { slotsOf } from "./slots.js";
import { Store } from "./store.js";

const MAX_BODY_BYTES = 16 * 1024;

type Handler = (request: IncomingMessage, match: RegExpExecArray) => Promise<{ status: number; body?: unknown }>;

export function buildServer(config: Config): Server {
  const store = new Store(config.databasePath);
  const bookings = new Bookings(store, new IdempotencyCache(config.idempotencyTtlMs), config);

  const routes: [string, RegExp, Handler][] = [
    ["GET", /^\/healthz$/, async () => ({ status: 200, body: { ok: true } })],
    [
      "GET",
      /^\/v1\/routes\/([\w-]+)\/days\/(\d{4}-\d{2}-\d{2})\/slots$/,
      async (_request, [, route, day]) => ({
        status: 200,
        body: { slots: await slotsOf(store, route!, day!, config.timeZone, new Date()) },
      }),
    ],
    [
      "POST",
      /^\/v1\/bookings$/,
      async (request) => {
        const body = (await readJson(request)) as BookingRequest;
        const key = request.headers["idempotency-key"];
        return { status: 201, body: await bookings.hold(body, Array.isArray(key) ? key[0] : key) };
      },
    ],
    [
      "POST",
      /^\/v1\/bookings\/([\w-]+)\/confirm$/,
      async (_request, [, id]) => ({ status: 200, body: await bookings.confirm(id!) }),
    ],
    [
      "DELETE",
      /^\/v1\/bookings\/([\w-]+)$/,
      async (_request, [, id]) => {
        await bookings.cancel(id!);
        return { status: 204 };
      },
    ],
  ];

  const server = createServer(async (request, response) => {
    const started = performance.now();
    const requestId = randomUUID().slice(0, 8);
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    try {
      for (const [method, pattern, handler] of routes) {
        const match = method === request.method ? pattern.exec(path) : null;
        if (!match) continue;
        const { status, body } = await handler(request, match);
        send(response, status, body);
        return;
      }
      send(response, 404, { code: "E4000", title: "No such path" });
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError("E5001");
      if (known.retryAfterSeconds) response.setHeader("retry-after", String(known.retryAfterSeconds));
      console.error(JSON.stringify({ level: "error", requestId, error: describe(error) }));
      send(response, known.status, known);
    } finally {
      const ms = Math.round((performance.now() - started) * 10) / 10;
      console.log(JSON.stringify({ level: "info", requestId, method: request.method, path, status: response.statusCode, ms }));
    }
  });
  server.on("close", () => store.close());
  return server;
}

function send(response: ServerResponse, status: number, body?: unknown): void {
  response.statusCode = status;
  if (body === undefined) {
    response.end();
    return;
  }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) throw new ApiError("E4001", "the body is over 16 KiB");
    chunks.push(chunk as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new ApiError("E4001", "the body is not JSON");
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const config = loadConfig();
  buildServer(config).listen(config.port, config.host, () => {
    console.log(JSON.stringify({ level: "info", message: `listening on ${config.host}:${config.port}` }));
  });
}
