/**
 * The answer of an agent's socket counts for that agent alone.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readApprovals } from "cli/approvals/find.ts";
import type { VerbContext } from "cli/context.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { answeringStream } from "tests/support/line_stream.ts";

const PATHS = pathsUnder("/root");

function approval(agent: string): ApprovalView {
  return {
    id: `of-${agent}`,
    agent,
    mcp: "files",
    version: "1.0.0",
    tool: "write",
    arguments: {},
    origin: "direct",
    digest: "d",
    is_destructive: true,
    asked: 1,
    expires: 2,
    state: "asked",
  };
}

/** A host with one agent, boss, whose socket returns approvals of these agents. */
function context(answered: readonly string[]): VerbContext {
  const socket = PATHS.dialSocket("boss");
  const host = memoryHost({
    files: { [PATHS.agentShard("boss")]: "name: boss\nchannel: webview\n", [socket]: "" },
  });
  const answer = { type: "approvals_result", approvals: answered.map(approval) };
  const connectUnix = async (path: string) => {
    assert.equal(path, socket);
    return answeringStream(answer);
  };
  return {
    ports: { ...host, hostname: "atlas", sockets: { ...host.sockets, connectUnix } },
    paths: PATHS,
    caller: { kind: "operator", uid: 0 },
    target: { kind: "host" },
  } as unknown as VerbContext;
}

const CASES: readonly { readonly answered: readonly string[]; readonly found: string[] }[] = [
  { answered: ["boss"], found: ["boss"] },
  { answered: ["ada"], found: [] },
  { answered: ["boss/r", "../boss", "boss/../boss", "Boss", "boss ", ""], found: [] },
  { answered: ["boss/r", "boss"], found: ["boss"] },
];

for (const { answered, found } of CASES) {
  Deno.test(`readApprovals() of boss that answers as ${JSON.stringify(answered)}`, async () => {
    const read = await readApprovals(context(answered));
    assert.ok(read.ok);
    assert.deepEqual(read.value.approvals.map(({ agent }) => agent), found);
    assert.equal(read.value.unread.size, 0);
  });
}
