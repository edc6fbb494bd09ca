/**
 * What keeps an idle program awake: a conversation that its next start would not continue, work
 * that it reports, and processes that it left running. And a start that is no longer needed.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FileFault } from "core/ports/files.ts";
import type { FamilyMember } from "core/ports/processes.ts";
import type { McpEntry } from "core/runtimes/mcp_entries.ts";
import { jsonPeer } from "tests/fakes/json_peer.ts";
import type { FakeProgram } from "tests/fakes/processes.ts";
import { plainAgent, serve, setUp } from "tests/units/dial/runtimes/acp_scene.ts";
import {
  type DriverScene,
  SESSION_FILE,
  withTime,
} from "tests/units/dial/runtimes/driver_scene.ts";
import { openDriver } from "tests/units/dial/runtimes/line_scene.ts";
import { methods } from "@agentclientprotocol/sdk";
import { settle } from "tests/fakes/clock.ts";
import { createLeftRunning } from "units/dial/runtimes/left_running.ts";
import { createStreamTasks } from "units/dial/runtimes/stream_json_tasks.ts";

const LOST = "its conversation cannot be resumed";

/** A process: pid, parent, command line. */
function member(pid: number, parent: number, line: string): FamilyMember {
  return { pid, parent, start: "1", args: line.split(" ") };
}

const foreign: McpEntry = {
  name: "own",
  isProxied: false,
  kind: "stdio",
  command: "npx",
  args: ["-y", "server"],
  env: {},
};

const FAMILIES: readonly {
  readonly name: string;
  readonly atReady?: readonly FamilyMember[];
  readonly now: readonly FamilyMember[] | undefined;
  readonly left: string | undefined;
}[] = [
  { name: "no process", now: [], left: undefined },
  {
    name: "a command in the background",
    now: [member(7, 1, "/usr/bin/sleep 99")],
    left: 'it still runs "sleep" (process 7)',
  },
  {
    name: "a helper that ran when the program was ready",
    atReady: [member(7, 1, "codex app-server")],
    now: [member(7, 1, "codex app-server")],
    left: undefined,
  },
  {
    name: "what such a helper started later",
    atReady: [member(7, 1, "codex app-server")],
    now: [member(7, 1, "codex app-server"), member(8, 7, "make all")],
    left: 'it still runs "make" (process 8)',
  },
  {
    name: "MCP proxies of a build, of the tree, and as a launcher",
    now: [
      member(7, 1, "/usr/lib/fleetctl/deno run -P=mcp /usr/lib/fleetctl/fleetctl-mcp.js connect"),
      member(8, 1, "/usr/bin/deno run -P=mcp /srv/tree/units/mcp/main.ts connect git"),
      member(9, 1, "/bin/sh /usr/lib/fleetctl/fleetctl-mcp connect git"),
    ],
    left: undefined,
  },
  {
    name: "a server of the client config, with what it started",
    now: [member(7, 1, "node /usr/bin/npx -y server"), member(8, 7, "sh -c server")],
    left: undefined,
  },
  {
    name: "another server of the same command",
    now: [member(7, 1, "node /usr/bin/npx -y watch")],
    left: 'it still runs "node" (process 7)',
  },
  { name: "processes that cannot be seen", now: undefined, left: "its processes cannot be seen" },
];
for (const { name, atReady = [], now, left } of FAMILIES) {
  Deno.test(`createLeftRunning() finds in ${name}: ${left ?? "nothing"}`, () => {
    let family: readonly FamilyMember[] | undefined = atReady;
    const watch = createLeftRunning({ family: () => family }, [foreign]);
    watch.ready();
    family = now;
    assert.equal(watch.find(), left);
  });
}

const task = (subtype: string, more: Readonly<Record<string, unknown>> = {}) => ({
  type: "system",
  subtype,
  task_id: "b1",
  ...more,
});
const call = (name: string) => ({
  type: "assistant",
  message: { content: [{ type: "tool_use", id: "t", name, input: {} }] },
});
const INIT = { type: "system", subtype: "init" };
const RESULT = { type: "result", subtype: "success" };
const OPEN_TASK = "background tasks run: 1";

const TASKS: readonly (readonly [string, readonly Readonly<Record<string, unknown>>[], unknown])[] =
  [
    ["nothing", [], undefined],
    ["a turn", [INIT, RESULT], undefined],
    ["a task", [INIT, task("task_started"), RESULT], OPEN_TASK],
    ["a task that continues", [
      task("task_started"),
      task("task_updated", { patch: { status: "running" } }),
      task("task_progress"),
    ], OPEN_TASK],
    ...["completed", "failed", "stopped", "killed"].flatMap((status) =>
      [
        [`a ${status} task`, [
          task("task_started"),
          task("task_updated", { patch: { status } }),
        ], undefined],
        [`the notification of a ${status} task`, [
          task("task_started"),
          task("task_notification", { status }),
        ], undefined],
      ] as const
    ),
    [
      "the turn that the end of a task began",
      [task("task_started"), task("task_notification", { status: "completed" }), INIT],
      "it works on a turn that it began itself",
    ],
    ["a job", [call("CronCreate"), call("Bash")], "jobs are scheduled: 1"],
    ["a deleted job", [call("CronCreate"), call("CronDelete"), call("CronDelete")], undefined],
  ];
for (const [name, messages, unfinished] of TASKS) {
  Deno.test(`createStreamTasks() says of ${name}: ${unfinished ?? "nothing"}`, () => {
    const tasks = createStreamTasks();
    for (const message of messages) tasks.read(message);
    assert.equal(tasks.unfinished(), unfinished);
  });
}

/** A stream program that answers each prompt with one result. */
const STREAM: FakeProgram = async (of) => {
  const peer = jsonPeer(of);
  await peer.serve(async ({ type, request_id, request }) => {
    if (request?.subtype === "initialize") {
      const response = { subtype: "success", request_id, response: {} };
      await peer.say({ type: "control_response", response });
    }
    if (type === "user") {
      await peer.say({ type: "result", subtype: "success", session_id: "s-1", result: "" });
    }
  });
};

/** A program of commands; `data` is its state. */
function commands(data: unknown): FakeProgram {
  return async (of) => {
    const peer = jsonPeer(of);
    await peer.serve(async ({ id, type }) => {
      const state = type === "get_state" ? { data } : {};
      await peer.say({ id, type: "response", command: type, success: true, ...state });
      if (type === "prompt") await peer.say({ type: "agent_settled" });
    });
  };
}

function acp(capabilities: Readonly<Record<string, unknown>>): FakeProgram {
  return (of) =>
    serve(
      of,
      plainAgent(capabilities).onRequest(
        methods.agent.session.prompt,
        () => ({ stopReason: "end_turn" }),
      ),
    );
}

const SESSIONS: readonly {
  readonly name: string;
  readonly open: () => DriverScene;
  /** Whether the session file cannot be written. */
  readonly isFull?: boolean;
  readonly afterTurn: string | undefined;
}[] = [
  { name: "stream_json", open: () => openDriver("stream_json", STREAM), afterTurn: undefined },
  {
    name: "stream_json without session files",
    open: () => openDriver("stream_json", STREAM, { args: ["-p", "--no-session-persistence"] }),
    afterTurn: LOST,
  },
  {
    name: "stream_json whose session id cannot be stored",
    open: () => openDriver("stream_json", STREAM),
    isFull: true,
    afterTurn: LOST,
  },
  {
    name: "rpc_jsonl",
    open: () => openDriver("rpc_jsonl", commands({ sessionFile: "/s/1.jsonl" })),
    afterTurn: undefined,
  },
  {
    name: "rpc_jsonl without a session file",
    open: () => openDriver("rpc_jsonl", commands({})),
    afterTurn: LOST,
  },
  { name: "acp that resumes", open: () => setUp(acp({ loadSession: true })), afterTurn: undefined },
  { name: "acp that does not", open: () => setUp(acp({})), afterTurn: LOST },
];
for (const { name, open, isFull = false, afterTurn } of SESSIONS) {
  Deno.test(`unfinished() of ${name} after a turn: ${afterTurn ?? "nothing"}`, async () => {
    const { driver, host } = open();
    const { write } = host.files;
    if (isFull) {
      host.files.write = (path, ...more) =>
        path === SESSION_FILE
          ? Promise.reject(new FileFault("ENOSPC", path, "no space left on the disk"))
          : write(path, ...more);
    }
    const session = await withTime(host, driver.start());
    assert.equal(session.unfinished(), undefined, "there is nothing to lose before a turn");
    const started = session.lastOutputMs();
    await host.clock.advance(5_000);
    const turn = session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
    assert.deepEqual(await withTime(host, turn), { outcome: "completed" });
    assert.ok(session.lastOutputMs() >= started + 5_000);
    await settle();
    assert.equal(session.unfinished(), afterTurn);
    await withTime(host, session.close(1_000));
  });
}

const silent: FakeProgram = async (of) => void await of.input();
for (
  const [name, open] of [
    ["stream_json", () => openDriver("stream_json", silent)],
    ["acp", () => setUp(silent)],
  ] as const
) {
  Deno.test(`start() of ${name} ends when it is no longer needed`, async () => {
    const { driver, host } = open();
    const stop = new AbortController();
    const starting = driver.start(stop.signal);
    await settle();
    stop.abort();
    await assert.rejects(withTime(host, starting), /Cannot start runtime .*no longer needed/);
    assert.equal(host.clock.pending(), 0);
    await assert.rejects(withTime(host, driver.start(stop.signal)), /no longer needed/);
  });
}
