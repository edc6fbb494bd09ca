/**
 * Replays the messages that codex 0.169.0 and its driver exchanged in turns. The driver must send
 * the same messages, and the transcript is a golden file. The recording is unchanged except for
 * names and folders.
 *
 * @module
 */

import assert from "node:assert/strict";
import { jsonPeer, type PeerMessage } from "tests/fakes/json_peer.ts";
import { assertGolden } from "tests/support/golden.ts";
import { openCodex, promptIn } from "tests/units/dial/runtimes/codex_scene.ts";
import { withTime } from "tests/units/dial/runtimes/driver_scene.ts";

const RECORDED = new URL("./recorded/codex.jsonl", import.meta.url);
const TURNS = ["calls", "a command", "a file", "a question", "a bad key", "a cancel"];

/** Returns the client config of the recording, from the thread that it opened. */
function clientConfigOf(sent: readonly PeerMessage[]): string {
  const { config } = sent.find(({ method }) => method === "thread/start").params;
  // deno-lint-ignore no-explicit-any -- what the driver sent, in any shape
  const servers = Object.entries<any>(config.mcp_servers);
  const entries = servers.map(([name, { command, args, env }]) => [name, { command, args, env }]);
  return JSON.stringify({ mcpServers: Object.fromEntries(entries) });
}

Deno.test("a recorded conversation with codex replays unchanged", async () => {
  const lines = (await Deno.readTextFile(RECORDED)).trimEnd().split("\n")
    .map((line) => JSON.parse(line));
  const sent = lines.flatMap((line) => line.out === undefined ? [] : [line.out]);
  const printed: string[] = [];
  const print = (value: unknown) => void printed.push(JSON.stringify(value));
  let seen: readonly PeerMessage[] = [];
  const of = openCodex(async (call) => {
    const peer = jsonPeer(call);
    seen = peer.seen;
    let at = 0;
    await peer.serve(async () => {
      for (at++; lines[at]?.in !== undefined; at++) await peer.say(lines[at].in);
    });
  }, {
    files: { "/home/ada/.fleetctl/mcp.json": clientConfigOf(sent) },
    decidePermission: (ask) => {
      print({ asked: ask });
      const isDenied = ask.tool === "exec_command" || ask.tool === "shot";
      return Promise.resolve(
        isDenied ? { decision: "deny", reason: "not here" } : { decision: "allow" },
      );
    },
  });
  const session = await withTime(of.host, of.driver.start());
  for (const turn of TURNS) {
    printed.push(`# ${turn}`);
    const { outcome } = await promptIn(of, session, {
      text: turn,
      on(update) {
        print("durationMs" in update ? { ...update, durationMs: 0 } : update);
        if (turn === "a cancel" && update.kind === "text_delta") void session.cancel();
      },
    });
    print(outcome);
  }
  await withTime(of.host, session.close(1_000));
  assert.deepEqual(seen, sent);
  await assertGolden("runtimes/codex.txt", `${printed.join("\n")}\n`);
});
