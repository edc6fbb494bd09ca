/**
 * A real dial unit with a real gateway that stores nothing more for its agent. The unit reports
 * this and the remedy, and keeps its events. Its answer arrives once there is room again.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { scriptedRuntime } from "tests/fakes/runtime.ts";
import { cockpitReader } from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { startTestGateway } from "tests/support/gateway_fixture.ts";

Deno.test({
  name: "an agent with a full share reports it; its answer arrives once there is space",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    const host = liveHost({ seed: 3 });
    await using running = await startTestGateway({ host });
    const cockpit = cockpitReader(() => running.cockpitUrl);
    const path = `${pathsUnder("/r").role("gateway")}/gateway.db`;
    const db = await host.databases.open(path);
    db.exec("insert into agent_bytes (agent, bytes) values ('mia', 1000000000000)");
    const log = recordingLog();
    const unit = await startTestDial({
      url: running.dialUrl,
      driver: scriptedRuntime(),
      host: { ...liveHost({ seed: 7, clock: hastyClock() }), log },
    });
    const turnId = await cockpit.post("hello");
    const line = await log.next("gateway storage for this agent is full, events wait here");
    assert.equal(line.level, "warning");
    assert.equal(line.fields.code, "agent-storage-full");
    assert.match(String(line.fields.hint), /fleetctl gc --events/);
    db.exec("delete from agent_bytes");
    const events = await cockpit.follow(({ kind }) => kind === "turn_ended");
    const mine = events.filter((event) => event.turn_id === turnId).map(({ kind }) => kind);
    assert.deepEqual(mine.slice(-3), ["turn_started", "message", "turn_ended"]);
    await unit.close();
  },
});
