/**
 * `fleetctl acp` on a host: root, an admin agent and the agent itself get answers, directly and
 * through the daemon. The transcript names the caller and the thread's conversation. All others are
 * refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { DaemonScene } from "tests/system/daemon/scene.ts";
import { lastAsked, TURN_CALLERS } from "tests/system/daemon/turns.ts";

/** Starts the program, sends one prompt, prints what it said and how it ended. */
const EDITOR = `
import json, subprocess, sys
words, text = sys.argv[2:], sys.argv[1]
program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
said = []
def ask(number, method, params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    program.stdin.write(json.dumps(message) + "\\n")
    program.stdin.flush()
    for line in program.stdout:
        answer = json.loads(line)
        if answer.get("id") == number:
            return answer["result"]
        update = answer["params"]["update"]
        if update["sessionUpdate"] == "agent_message_chunk":
            said.append(update["content"]["text"])
version = ask(1, "initialize", {"protocolVersion": 1})["protocolVersion"]
session = ask(2, "session/new", {"cwd": "/p", "mcpServers": []})["sessionId"]
prompt = [{"type": "text", "text": text}]
stop = ask(3, "session/prompt", {"sessionId": session, "prompt": prompt})["stopReason"]
program.stdin.close()
rest = program.stdout.read()
print(json.dumps([version, stop, "".join(said), rest, program.wait(), session]))
`;

/** An editor of each caller that may send a turn gets an answer. */
export async function editors(scene: DaemonScene): Promise<void> {
  await scene.settled();
  for (const [user, agent, author] of TURN_CALLERS) {
    const text = `typed by ${user}`;
    const words = ["/usr/bin/python3", "-c", EDITOR, text, "fleetctl", "acp", agent];
    const ended = await scene.run(words, { user });
    assert.equal(ended.code, 0, `${user}: ${ended.out}${ended.err}`);
    const [version, stop, said, rest, code, session] = JSON.parse(ended.out);
    assert.deepEqual([version, stop, rest, code], [1, "end_turn", "", 0], ended.out + ended.err);
    assert.match(said, /^Agent "ada" on host ".*" answers here\.[^]*demo/);
    const conversation = String(session).replace(/^ada\//, "");
    assert.deepEqual(await lastAsked(scene), { text, by: author, conversation });
  }
  for (const user of ["bob", "fleetctl-gateway", "www-data"]) {
    const ended = await scene.run(["fleetctl", "acp", "ada"], { user });
    assert.deepEqual([ended.code, ended.out], [4, ""], `${user}: ${ended.err}`);
  }
  const rows = await scene.audit("--verb", "acp");
  assert.ok(rows.length > 0 && !JSON.stringify(rows).includes("typed by"), "no text is audited");
}
