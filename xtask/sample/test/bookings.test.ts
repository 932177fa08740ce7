import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { Bookings } from "../src/bookings.js";
import { loadConfig } from "../src/config.js";
import { IdempotencyCache } from "../src/idempotency.js";
import { Store } from "../src/store.js";
import { addSailing, memoryStore } from "./support.js";

const NOW = new Date("2026-03-14T09:00:00Z");

describe("holding a slot", () => {
  let store: Store;
  let bookings: Bookings;

  beforeEach(() => {
    store = memoryStore();
    addSailing(store, { id: "BRL-0940", departsAt: "2026-03-14T12:40:00Z", capacity: 4 });
    bookings = new Bookings(store, new IdempotencyCache(900_000), loadConfig({}), () => NOW);
  });

  it("takes bicycles off what is free", async () => {
    await bookings.hold({ sailingId: "BRL-0940", rider: "ana", bicycles: 3 });
    assert.equal(await store.taken("BRL-0940", NOW.toISOString()), 3);
  });

  it("is refused with E4091 when the sailing is full", async () => {
    await bookings.hold({ sailingId: "BRL-0940", rider: "ana", bicycles: 4 });
    await assert.rejects(bookings.hold({ sailingId: "BRL-0940", rider: "rui", bicycles: 1 }), { code: "E4091" });
  });

  it("is refused with E4221 twenty minutes before departure", async () => {
    addSailing(store, { id: "BRL-0915", departsAt: "2026-03-14T09:15:00Z", capacity: 4 });
    await assert.rejects(bookings.hold({ sailingId: "BRL-0915", rider: "ana", bicycles: 1 }), { code: "E4221" });
  });

  it("answers a repeated key with the first booking", async () => {
    const request = { sailingId: "BRL-0940", rider: "ana", bicycles: 1 };
    const first = await bookings.hold(request, "key-1");
    const second = await bookings.hold(request, "key-1");
    assert.equal(second.id, first.id);
    assert.equal(await store.taken("BRL-0940", NOW.toISOString()), 1);
  });

  it("refuses a key that was used for another request", async () => {
    await bookings.hold({ sailingId: "BRL-0940", rider: "ana", bicycles: 1 }, "key-1");
    await assert.rejects(bookings.hold({ sailingId: "BRL-0940", rider: "rui", bicycles: 1 }, "key-1"), {
      code: "E4092",
    });
  });
});
