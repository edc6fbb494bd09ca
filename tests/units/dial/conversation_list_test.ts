/**
 * Listing and removing conversations over the local socket: who may do it, and what is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { answerConversations, createConversations } from "units/dial/conversations.ts";
import type { WorktreeRecord } from "units/dial/worktrees/record.ts";
import type { Worktrees } from "units/dial/worktrees/worktrees.ts";

const ROOT = { agent: "mia", mayDecide: true } as const;
const TRIP: WorktreeRecord = {
  state: "ready",
  workspace: "/w",
  folder: "/w/.fleetctl/worktrees/trip",
  branch: "fleetctl/trip",
};
const SNAPSHOT = "refs/fleetctl/snapshots/trip/20261123T203738123Z";

/** Conversations with a worktree `trip` and a session `old`. */
async function scene(of: { readonly busy?: string; readonly removed?: Worktrees["remove"] } = {}) {
  const { files } = memoryHost();
  await files.ensureDir("/dial/sessions");
  await files.write("/dial/sessions/old.json", "{}");
  await files.write("/dial/sessions/trip.json", "{}");
  const left: string[] = [];
  const conversations = createConversations({
    config: { agent: "mia" },
    options: {
      worktrees: {
        names: () => ["trip"],
        get: (name) => name === "trip" ? TRIP : undefined,
        remove: of.removed ??
          ((name) =>
            Promise.resolve(
              ok(name === "trip" ? { record: TRIP, snapshot: SNAPSHOT } : undefined),
            )),
      },
    },
    files,
    folder: "/dial",
    runtime: { leave: async (name) => void left.push(name) },
    connections: [{ store: { isOpen: (name) => name === of.busy } }],
  });
  const ask = (type: "conversations" | "conversation_remove", conversation = "", rights = ROOT) =>
    answerConversations({ type, agent: "mia", conversation }, conversations, rights);
  return { ask, left, files };
}

Deno.test("conversations are listed with their worktrees", async () => {
  const { ask } = await scene();
  const answer = await ask("conversations");
  assert.ok(answer.type === "conversations_result");
  assert.deepEqual(
    answer.conversations.map(({ conversation, folder, state }) => ({
      conversation,
      ...defined({ folder, state }),
    })),
    [
      { conversation: "default" },
      { conversation: "old" },
      { conversation: "trip", folder: TRIP.folder, state: "ready" },
    ],
  );
});

Deno.test("a removed conversation is forgotten, after its program has left it", async () => {
  const { ask, left, files } = await scene();
  assert.deepEqual(await ask("conversation_remove", "trip"), {
    type: "conversation_removed",
    conversation: "trip",
    workspace: TRIP.workspace,
    folder: TRIP.folder,
    branch: TRIP.branch,
    snapshot: SNAPSHOT,
  });
  assert.deepEqual(await ask("conversation_remove", "old"), {
    type: "conversation_removed",
    conversation: "old",
  });
  assert.deepEqual(left, ["trip", "old"]);
  assert.deepEqual(await files.list("/dial/sessions"), []);
});

for (
  const [name, conversation, rights, code] of [
    ["the default one", "default", ROOT, "conversation-default"],
    ["an unknown one", "none", ROOT, "conversation-unknown"],
    ["one with a turn", "trip", ROOT, "conversation-busy"],
    ["by the agent itself", "old", { ...ROOT, mayDecide: false }, "conversation-not-yours"],
    ["of another agent", "old", { ...ROOT, agent: "bea" }, "agent-mismatch"],
  ] as const
) {
  Deno.test(`a conversation is not removed: ${name}`, async () => {
    const { ask, left, files } = await scene({ busy: "trip" });
    const answer = await ask("conversation_remove", conversation, rights as typeof ROOT);
    assert.ok(answer.type === "error");
    assert.equal(answer.code, code);
    assert.deepEqual(left, []);
    assert.equal((await files.list("/dial/sessions")).length, 2);
  });
}

Deno.test("a worktree that stays keeps its session, and the hint is in the message", async () => {
  const fault = refusal("worktree-locked", "Cannot remove it: locked", { hints: ["unlock"] });
  const { ask, files } = await scene({ removed: () => Promise.resolve(err(fault)) });
  const answer = await ask("conversation_remove", "trip");
  assert.ok(answer.type === "error");
  assert.equal(answer.message, "Cannot remove it: locked; hint: unlock");
  assert.deepEqual(await files.list("/dial/sessions"), ["old.json", "trip.json"]);
});
