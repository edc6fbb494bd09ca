/**
 * The builtin servers on stdio, started as their units start them, with a dial unit whose socket
 * the test controls.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import type { McpEndpoint } from "core/ports/mcp_client.ts";
import type { Result } from "core/result.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { askDial, type DialAnswer } from "units/mcp/builtin/dial_client.ts";
import { checkMessage } from "units/mcp/builtin/channel.ts";

const TREE = new URL("../../..", import.meta.url).pathname.replace(/\/$/, "");
const CHECKS = { sanitizeOps: true, sanitizeResources: true };

function endpoint(server: string, home: string): McpEndpoint {
  return {
    command: Deno.execPath(),
    args: [
      "run",
      "-q",
      "-A",
      "--no-check",
      "--cached-only",
      "-c",
      `${TREE}/deno.json`,
      `${TREE}/units/mcp/main.ts`,
      "serve",
      server,
    ],
    env: { HOME: home, DENO_DIR: Deno.env.get("DENO_DIR") ?? `${TREE}/.cache/deno` },
  };
}

function client() {
  return systemMcpClient(openHost({ log: { program: "test", level: "error" } }));
}

/** A dial unit that answers each question with the result of `answer`. */
function dialUnit(home: string, answer: (question: unknown) => string | undefined) {
  Deno.mkdirSync(`${home}/.fleetctl/dial`, { recursive: true });
  const path = `${home}/.fleetctl/dial/local.sock`;
  const listener = Deno.listen({ transport: "unix", path });
  const questions: unknown[] = [];
  const accepting = (async () => {
    for await (const conn of listener) {
      const buffer = new Uint8Array(200_000);
      let text = "";
      while (!text.endsWith("\n")) {
        const count = await conn.read(buffer);
        if (count === null) break;
        text += new TextDecoder().decode(buffer.subarray(0, count));
      }
      if (text !== "") questions.push(JSON.parse(text));
      const line = answer(questions.at(-1));
      const bytes = new TextEncoder().encode(line ?? "");
      for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
      conn.close();
    }
  })();
  return {
    path,
    questions,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
    },
  };
}

Deno.test("a channel server reports that a message is shown, not that it was sent", async () => {
  for (const channel of ["messenger", "workchat"]) {
    const at = endpoint(channel, "/nonexistent");
    const listed = await client().listTools(channel, at);
    assert.ok(listed.ok, JSON.stringify(listed));
    assert.deepEqual(listed.value.map((tool) => tool.name), ["send_message"]);
    assert.match(
      listed.value[0]?.description ?? "",
      /"shown" means that the cockpit shows the message, not that it was sent or read/,
    );
    const answer = await client().callTool(channel, at, {
      tool: "send_message",
      arguments: { text: "Good evening", title: "News" },
    });
    assert.ok(answer.ok && !answer.value.isError, JSON.stringify(answer));
    const { id, ...rest } = JSON.parse(answer.value.text);
    assert.deepEqual(rest, { outcome: "shown" });
    assert.match(id, /^[0-9a-f-]{36}$/);
  }
});

Deno.test("a channel server refuses an invalid message", async () => {
  const at = endpoint("messenger", "/nonexistent");
  for (const args of [{}, { text: 5 }, { text: " \n" }, { text: "x", title: "a\nb" }]) {
    const answer = await client().callTool("messenger", at, {
      tool: "send_message",
      arguments: args,
    });
    assert.ok(answer.ok ? answer.value.isError : answer.error.code === "mcp-failed");
  }
});

Deno.test("checkMessage() accepts text that fits into one event, and nothing longer", () => {
  const room = TURN_LIMITS.toolArgumentsBytesMax - '{"text":""}'.length;
  assert.equal(checkMessage({ text: "x".repeat(room) }), undefined);
  assert.match(checkMessage({ text: "x".repeat(room + 1) }) ?? "", /send it in parts/);
  assert.match(checkMessage({ text: "\u0001".repeat(room / 2) }) ?? "", /send it in parts/);
});

Deno.test("agent-message sends through the dial unit and lists agents", async () => {
  const home = await Deno.makeTempDir();
  {
    await using dial = dialUnit(home, (question) => {
      const { type, to } = question as { type: string; to?: string };
      if (type === "agents") return '{"type":"agents_result","names":["bea"]}\n';
      return to === "bea"
        ? '{"type":"message_result","ok":true}\n'
        : '{"type":"message_result","ok":false,"code":"agent-unknown","message":"Cannot ' +
          'send to \\"zed\\": no such agent"}\n';
    });
    const at = endpoint("agent-message", home);
    const call = (tool: string, args: Readonly<Record<string, unknown>>) =>
      client().callTool("agent-message", at, { tool, arguments: args });
    const listed = await call("list_agents", {});
    assert.ok(listed.ok && listed.value.text.includes('"bea"'), JSON.stringify(listed));
    const sent = await call("send_message", { to: "bea", text: "hello" });
    assert.ok(sent.ok && !sent.value.isError, JSON.stringify(sent));
    const { accepted, id } = JSON.parse(sent.value.text);
    assert.equal(accepted, true);
    const refused = await call("send_message", { to: "zed", text: "hello" });
    assert.ok(refused.ok && refused.value.isError);
    assert.match(refused.value.text, /no such agent/);
    const bad = await call("send_message", { to: "../x", text: "hello" });
    assert.ok(bad.ok && bad.value.isError);
    assert.deepEqual(dial.questions, [
      { type: "agents" },
      { type: "message", to: "bea", text: "hello", id },
      { type: "message", to: "zed", text: "hello", id: retryId(dial.questions) },
    ]);
  }
  const gone = await client().callTool("agent-message", endpoint("agent-message", `${home}/x`), {
    tool: "list_agents",
    arguments: {},
  });
  assert.ok(gone.ok && gone.value.isError);
  assert.match(gone.value.text, /dial unit: its socket ".*local\.sock" does not exist/);
  await Deno.remove(home, { recursive: true });
});

Deno.test("teamchat sends through the dial unit and reports the outcome", async () => {
  const home = await Deno.makeTempDir();
  const at = endpoint("teamchat", home);
  const send = async (args: Readonly<Record<string, unknown>>) => {
    const answer = await client().callTool("teamchat", at, {
      tool: "send_message",
      arguments: args,
    });
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  };
  const results: Readonly<Record<string, string>> = {
    good: '{"type":"owner_message_result","outcome":"delivered","ids":["m1"]}',
    doubt: '{"type":"owner_message_result","outcome":"ambiguous","ids":[],"reason":"504"}',
    away: '{"type":"owner_message_result","outcome":"blocked","ids":[],"reason":"removed"}',
    cockpit: '{"type":"error","code":"teamchat-absent","message":"Cannot send"}',
    broken: '{"type":"error","code":"gateway-silent","message":"Cannot send: silent"}',
  };
  {
    await using dial = dialUnit(home, (question) => {
      const { text } = question as { text: string };
      return `${results[text.split("\n").at(-1) ?? ""]}\n`;
    });
    const good = await send({ text: "good", title: "News" });
    const { id, ...said } = JSON.parse(good.text);
    assert.deepEqual([good.isError, said], [false, { accepted: true, outcome: "delivered" }]);
    assert.deepEqual(dial.questions, [
      { type: "owner_message", text: "**News**\n\ngood", id },
    ]);
    const doubt = await send({ text: "doubt" });
    assert.match(doubt.text, /"outcome":"ambiguous","reason":"504"/);
    assert.equal(doubt.isError, false);
    const away = await send({ text: "away" });
    assert.match(away.text, /"accepted":false,.*"outcome":"blocked","reason":"removed"/);
    assert.equal(away.isError, true);
    assert.match((await send({ text: "cockpit" })).text, /"accepted":true,.*"outcome":"shown"/);
    const broken = await send({ text: "broken" });
    assert.deepEqual([broken.isError, broken.text], [true, "Cannot send: silent"]);
  }
  assert.match((await send({ text: "good" })).text, /Cannot reach this agent's dial unit/);
  await Deno.remove(home, { recursive: true });
});

Deno.test("teamchat offers a file of the folder that it names", async () => {
  const home = await Deno.makeTempDir();
  const at = endpoint("teamchat", home);
  {
    const result = '{"type":"owner_message_result","outcome":"delivered","ids":["m1"]}';
    const unfit = '{"type":"error","code":"file-unfit","message":"Cannot send the file"}';
    await using dial = dialUnit(home, (question) => {
      return `${(question as { name: string }).name === "a.pdf" ? result : unfit}\n`;
    });
    const listed = await client().listTools("teamchat", at);
    assert.ok(listed.ok);
    const [, tool] = listed.value;
    // The description of a tool is the same for every agent, although their homes differ.
    assert.match(tool?.description ?? "", /into ~\/\.fleetctl\/dial\/send\/ first/);
    assert.ok(!JSON.stringify(listed.value).includes(home));
    const offer = (name: string) =>
      client().callTool("teamchat", at, { tool: "send_file", arguments: { name } });
    const good = await offer("a.pdf");
    assert.ok(good.ok && !good.value.isError, JSON.stringify(good));
    const { id, ...said } = JSON.parse(good.value.text);
    assert.deepEqual(said, { accepted: true, outcome: "delivered" });
    assert.deepEqual(dial.questions[0], { type: "owner_file", name: "a.pdf", description: "", id });
    const bad = await offer("../key.json");
    assert.ok(bad.ok && bad.value.isError && bad.value.text === "Cannot send the file");
  }
  await Deno.remove(home, { recursive: true });
});

Deno.test("askDial() names every way in which a dial unit can fail", CHECKS, async () => {
  const home = await Deno.makeTempDir();
  const rows: readonly (readonly [string | undefined, RegExp])[] = [
    [undefined, /ended without an answer/],
    ["{\n", /not JSON/],
    ['{"type":"error","code":"busy","message":"Busy"}\n', /^Busy$/],
    ['{"ok":"yes"}\n', /unknown shape/],
    ["x".repeat(300 * 1024) + "\n", /a line has more than 262144 bytes/],
    ['{"type":"error","code":"BAD code","message":"No"}\n', /^No$/],
  ];
  for (const [line, says] of rows) {
    await using dial = dialUnit(home, () => line);
    const asked: Result<DialAnswer> = await askDial(dial.path, { type: "agents" }, {
      clock: fakeClock(),
      connect: connectUnix,
    });
    assert.ok(!asked.ok);
    assert.match(asked.error.message, says);
    assert.match(asked.error.code, /^[a-z-]+$/);
  }
  await Deno.remove(home, { recursive: true });
});

/** Returns the message id, which must be unique so that a repeated message does no harm. */
function retryId(questions: readonly unknown[]): string {
  const { id } = questions.at(-1) as { readonly id: string };
  assert.match(id, /^[0-9a-f-]{36}$/);
  return id;
}
