/**
 * What `fleetctl gc` removes, and above all what it keeps.
 *
 * @module
 */

import assert from "node:assert/strict";
import { expireEvents } from "cli/gc/events.ts";
import { expiredLogs, expiredTrees, type Found } from "cli/gc/retention.ts";
import { denoFiles } from "core/os/files.ts";
import { sqliteDatabases } from "core/os/sqlite.ts";
import { prepareSchema } from "gateway/transcript/schema.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);

function file(name: string, ageDays: number, kind: Found["stat"]["kind"] = "file"): Found {
  return { name, path: `/l/${name}`, stat: { kind, mtimeMs: NOW - ageDays * DAY, size: 10 } };
}

Deno.test("expiredLogs() returns old logs of missing units and rotated logs", () => {
  const found = [
    file("fleetctl-gateway.service.log", 90),
    file("fleetctl-gateway.service.log.1", 90),
    file("fleetctl-gateway.service.log.1", 2),
    file("fleetctl-dial-bob.service.log", 90),
    file("fleetctl-dial-bob.service.log", 2),
    file("mcp-git-ada@3.service.log", 90),
    file("mcp-git-ada@4.service.log", 2),
    file("notes.txt", 900),
    file("old.log", 900, "directory"),
    file("link.log", 900, "symlink"),
  ];
  const units = new Set(["fleetctl-gateway.service", "mcp-git-ada@.service"]);
  assert.deepEqual(
    expiredLogs(found, units, NOW - 30 * DAY).map(({ path, reason }) => [path, reason]),
    [
      ["/l/fleetctl-gateway.service.log.1", "rotated away"],
      ["/l/fleetctl-dial-bob.service.log", "its unit is gone"],
      ["/l/mcp-git-ada@3.service.log", "its unit is gone"],
    ],
  );
});

Deno.test("expiredTrees() returns old trees without agents, and caches of missing entries", () => {
  const trees = (mcp: string, ageDays: number) => ({
    mcp,
    folder: file(mcp, ageDays, "directory"),
    usedMs: NOW - ageDays * DAY,
    bytes: 5,
    cache: { path: `/c/${mcp}`, bytes: 0 },
  });
  const expired = expiredTrees(
    [trees("wired", 90), trees("fresh", 2), trees("unused", 90), trees("lost", 90)],
    {
      wired: new Set(["wired"]),
      catalogued: new Set(["wired", "fresh", "unused"]),
      beforeMs: NOW - 30 * DAY,
    },
  );
  assert.deepEqual(expired.map(({ path }) => path), ["/l/unused", "/l/lost", "/c/lost"]);
});

/** A database like the gateway's, with events of these ages; `open` turns have not ended. */
async function withEvents(
  ages: readonly (readonly [days: number, turn?: "open" | "ended"])[],
  work: (path: string, seqs: () => Promise<readonly number[]>) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/gateway.db`;
  const db = await sqliteDatabases().open(path);
  try {
    prepareSchema(db, "e1");
    for (const state of ["open", "ended"]) {
      db.prepare(
        "insert into turns (turn_id, agent, text, origin, hops, asker, idempotency_key, state, " +
          "created, seq) values (?, 'ada', '', 'cockpit', 0, 'a', ?, ?, 0, 0)",
      ).run(state, state, state === "open" ? "started" : "ended");
    }
    db.transaction(() => {
      for (const [days, turn] of ages) {
        db.prepare(
          "insert into events (agent, at, turn_id, kind, payload) values ('ada', ?, ?, 'x', '{}')",
        )
          .run(NOW - days * DAY, turn ?? null);
      }
    });
    await work(
      path,
      async () =>
        db.prepare("select seq from events order by seq").all().map(({ seq }) => Number(seq)),
    );
  } finally {
    db.close();
    await Deno.remove(folder, { recursive: true });
  }
}

const ports = { files: denoFiles(), databases: sqliteDatabases() };
const options = { beforeMs: NOW - 30 * DAY, nowMs: NOW, isDryRun: false };

Deno.test("expireEvents() deletes the oldest rows first, whatever their times", async () => {
  // The third comes from a host whose clock was at 1970, the fifth from one far ahead.
  const ages = [[90], [80, "ended"], [20_000], [5], [-900], [60], [1]] as const;
  await withEvents(ages, async (path, seqs) => {
    const dry = await expireEvents(ports, path, { ...options, isDryRun: true });
    assert.deepEqual([dry.count, dry.bytes], [3, 6]);
    assert.equal((await seqs()).length, 7);
    assert.equal((await expireEvents(ports, path, options)).count, 3);
    assert.deepEqual(await seqs(), [4, 5, 6, 7]);
    assert.equal((await expireEvents(ports, path, options)).count, 0);
  });
});

Deno.test("expireEvents() keeps the events of an unfinished turn", async () => {
  await withEvents([[90, "open"], [90, "ended"], [1]], async (path, seqs) => {
    assert.equal((await expireEvents(ports, path, options)).count, 1);
    assert.deepEqual(await seqs(), [1, 3]);
  });
});

Deno.test("expireEvents() deletes nothing when every event looks old, and states why", async () => {
  await withEvents([[90], [80]], async (path, seqs) => {
    const expired = await expireEvents(ports, path, options);
    assert.equal(expired.count, 0);
    assert.match(expired.note ?? "", /is the clock of this host right/);
    assert.deepEqual(await seqs(), [1, 2]);
  });
  await withEvents([], async (path) => {
    assert.deepEqual(await expireEvents(ports, path, options), {
      count: 0,
      bytes: 0,
      turns: 0,
      note: undefined,
    });
  });
  assert.equal((await expireEvents(ports, "/nonexistent/gateway.db", options)).count, 0);
});

Deno.test("expireEvents() deletes many rows in short transactions", async () => {
  const ages = [...Array.from({ length: 5_000 }, () => [90] as const), [1] as const];
  await withEvents(ages, async (path, seqs) => {
    assert.equal((await expireEvents(ports, path, options)).count, 5_000);
    assert.deepEqual(await seqs(), [5_001]);
  });
});
