/**
 * The conversation of the pictures: everything that a transcript can show, the same each time.
 *
 * @module
 */

import { type PageScene, SCENE_NOW, type ScriptedAgent } from "tests/support/page_scene.ts";

const LOG = `commit 4f1c09ad2be7c6e0 (HEAD -> main)
Author: Mia Holm <mia@example.org>
Date:   Thu Mar 5 17:02:11 2026 +0000

    gateway: keep the outbox across restarts
`;
const ANSWER = `The last commit is **4f1c09a**, by Mia Holm, yesterday at 17:02:

> gateway: keep the outbox across restarts

It touches three files:

| File | Change |
|---|---|
| \`gateway/outbox.ts\` | new table, one row a turn |
| \`gateway/store.ts\` | opens it in WAL mode |
| \`tests/outbox_test.ts\` | 200 rounds of kill and restart |

To see it yourself:

\`\`\`sh
git show --stat 4f1c09a
\`\`\`
`;

/** Plays the agents of the list: one that works, one that failed, one that is disconnected. */
export async function playFleet(scene: PageScene): Promise<ScriptedAgent> {
  const ada = await scene.agent("ada");
  await ada.state("idle");
  const bob = await scene.agent("bob");
  await bob.state("failed", "the model endpoint answers with status 401");
  return ada;
}

/**
 * Plays a conversation with tool calls, a message through a channel, a failure, and a running turn.
 */
export async function playConversation(scene: PageScene): Promise<ScriptedAgent> {
  const ada = await playFleet(scene);
  await ada.state("working");
  await scene.ask("ada", "last commit of this project");
  const first = await ada.takeTurn();
  await ada.call(first.turnId, {
    mcp: "git",
    tool: "git_log",
    arguments: { path: "/srv/fleet", limit: 1 },
    result: LOG,
    durationMs: 84,
  });
  await ada.say(first.turnId, ANSWER, "m1");
  await ada.end(first.turnId);
  await scene.ask("ada", "Run the tests and tell Mia on Teams how it went.");
  const second = await ada.takeTurn();
  for (const command of ["git status --short", "./dev check", "./dev test unit"]) {
    await ada.call(second.turnId, {
      tool: "bash",
      arguments: { command },
      result: "ok\n",
      durationMs: 3_400,
    });
  }
  await ada.call(second.turnId, {
    tool: "read",
    arguments: { path: "/srv/fleet/tests/outbox_test.ts" },
    result: "import assert…\n",
    durationMs: 12,
  });
  await ada.say(second.turnId, "All 1 204 tests pass. I tell Mia.", "m2");
  await ada.call(second.turnId, {
    mcp: "teams",
    tool: "send_message",
    result: "sent",
    arguments: { to: "Mia Holm", text: "The tests of `main` pass: **1 204 of 1 204**." },
  });
  await ada.call(second.turnId, {
    mcp: "calendar",
    tool: "create_event",
    arguments: { title: "Release", day: "Friday" },
    status: "failed",
    result: "403: the calendar is read-only",
    durationMs: 210,
  });
  await ada.end(second.turnId, "failed", {
    code: "tool-denied",
    reason: "The calendar is read-only, so the event was not made.",
  });
  return ada;
}

/**
 * Queues a turn and plays `calls` tool calls in it. With `answer` the turn ends; otherwise its last
 * call keeps running.
 */
export async function playLongTurn(
  scene: PageScene,
  ada: ScriptedAgent,
  of: { readonly question: string; readonly calls: number; readonly answer?: string },
): Promise<string> {
  await scene.ask("ada", of.question);
  const { turnId } = await ada.takeTurn();
  // Every second event is the result of the previous call.
  const isRunning = of.answer === undefined;
  await ada.flood(of.calls * 2 - (isRunning ? 1 : 0), (index) => {
    const n = index >> 1;
    const call_id = `${turnId}-${n}`;
    return index % 2 === 0
      ? ["tool_call", {
        call_id,
        mcp: null,
        tool: "bash",
        arguments: { command: `./step ${n + 1}` },
      }, { turnId }]
      : ["tool_result", {
        call_id,
        status: "completed",
        text: `step ${n + 1} is done\n`,
        duration_ms: 420,
      }, { turnId }];
  });
  if (of.answer !== undefined) {
    await ada.say(turnId, of.answer);
    await ada.end(turnId);
  }
  return turnId;
}

/** Plays a turn with one finished and one running tool call; returns the turn's id. */
export async function playStreaming(scene: PageScene, ada: ScriptedAgent): Promise<string> {
  await scene.ask("ada", "Explain how a turn travels through the system.");
  const { turnId } = await ada.takeTurn();
  await ada.call(turnId, {
    tool: "grep",
    arguments: { pattern: "queueTurn" },
    result: "3 matches",
    durationMs: 31,
  });
  await ada.call(turnId, { tool: "bash", arguments: { command: "sleep 30" } });
  return turnId;
}

/** Asks two questions in a turn; the first is answered. */
export async function playQuestions(ada: ScriptedAgent, turnId: string): Promise<void> {
  const day = {
    name: "day",
    title: "Which day?",
    kind: "choice",
    required: true,
    allows_other: true,
    options: [
      { value: "Thursday", label: "Thursday", description: "before the review" },
      { value: "Friday", label: "Friday", description: "after the review" },
    ],
  };
  const asked = { mcp: "calendar", message: "", expires: SCENE_NOW + 40 * 60_000 };
  const of = { turnId };
  const size = { name: "size", title: "How many seats?", kind: "integer", required: true };
  await ada.emit("question_asked", { ...asked, question_id: "q1", fields: [size] }, of);
  await ada.emit("question_answered", {
    question_id: "q1",
    action: "answered",
    values: { size: 6 },
    by: "owner:ada@example.org",
    surface: "page",
  }, of);
  await ada.emit("question_ended", { question_id: "q1", state: "delivered" }, of);
  const note = { name: "note", title: "Note to the guests", kind: "text", required: false };
  await ada.emit("question_asked", {
    ...asked,
    question_id: "q2",
    message: "I found two free rooms.",
    fields: [day, note],
  }, of);
}

/** Text that is still being written when the picture is taken. */
export const STREAMED = `A turn goes through **four** places:

1. the gateway stores it,
2. the dial unit takes it over,
3. the runtime works on it,
4. each step comes back as an event`;

/** Time of the story. */
export const STORY_NOW = SCENE_NOW;
