/**
 * `kill -9` of the dial unit in mid-turn: the running turn ends with a stated outcome, the waiting
 * one runs, and no event is lost or duplicated.
 *
 * @module
 */

import assert from "node:assert/strict";
import { cockpitReader } from "tests/support/cockpit_reader.ts";
import { liveHost } from "tests/support/dial_fixture.ts";
import { startTestGateway } from "tests/support/gateway_fixture.ts";

const NOTICES = 40;

Deno.test({
  name: "a killed dial unit interrupts its running turn and runs the one that waits",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    await using running = await startTestGateway({ host: liveHost({ seed: 3 }) });
    const cockpit = cockpitReader(() => running.cockpitUrl);
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const start = () =>
      new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-q",
          "-A",
          "--no-check",
          "tests/support/dial_child.ts",
          root,
          running.dialUrl,
        ],
        stdin: "null",
        stdout: "null",
        stderr: "null",
      }).spawn();
    let child = start();
    try {
      const first = await cockpit.post(`hang ${NOTICES}`);
      const second = await cockpit.post("later");
      await cockpit.follow(({ kind, payload }) =>
        kind === "notice" && payload.text === `${NOTICES - 1}`
      );
      await cockpit.follow((event) => event.kind === "turn_delivered" && event.turn_id === second);
      child.kill("SIGKILL");
      await child.status;
      child = start();
      await cockpit.follow((event) => event.kind === "turn_ended" && event.turn_id === second);
      const events = await cockpit.all();
      const of = (turnId: string) => events.filter((event) => event.turn_id === turnId);
      assert.deepEqual(of(first).map(({ kind, payload }) => payload.code ?? payload.text ?? kind), [
        `hang ${NOTICES}`,
        "turn_delivered",
        "turn_started",
        ...Array.from({ length: NOTICES }, (_, n) => `${n}`),
        "dial-restarted",
      ]);
      assert.deepEqual(of(second).map(({ kind }) => kind), [
        "turn_queued",
        "turn_delivered",
        "turn_started",
        "message",
        "turn_ended",
      ]);
    } finally {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(root, { recursive: true });
    }
  },
});
