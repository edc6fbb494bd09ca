/**
 * `fleetctl acp` as a verb: rights that end while an editor is connected, a dial unit that does not
 * run, and a signal that ends the program.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { runVerb } from "cli/run.ts";
import { pathsUnder } from "core/paths.ts";
import type { Caller } from "core/verbs/caller.ts";
import { verbNamed } from "core/verbs/table.ts";
import { agentNamed, invocationOfRow, OPERATOR } from "tests/core/verbs/callers.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { choosing, connectEditor } from "tests/support/acp_editor.ts";
import { memoryCli } from "tests/support/memory_cli.ts";

const paths = pathsUnder("/");
const ADMIN: Caller = { kind: "admin", uid: 1001, agent: agentNamed("zoe") };

/** An editor before the verb, on a host with ada and the admin zoe. */
async function editorOf(caller: Caller) {
  const host = memoryHost();
  await host.files.ensureDir(paths.agentsDir);
  const shard = (name: string, more = "") =>
    host.files.write(
      paths.agentShard(name),
      `name: ${name}\nchannel: webview\nruntime: runtime-b\nrun_on: atlas\n${more}`,
    );
  await shard("ada");
  await shard("zoe", "admin: true\n");
  const { deps, output: printed } = memoryCli(host, {
    ports: {
      sockets: {
        ...host.sockets,
        connectUnix: () => Promise.reject(new Deno.errors.NotFound("no socket")),
      },
    },
  });
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const output = new TransformStream<Uint8Array, Uint8Array>();
  const writer = output.writable.getWriter();
  const stop = new AbortController();
  const verb = verbNamed("acp");
  assert.ok(verb !== undefined);
  const target = { kind: "agent", agent: agentNamed("ada") } as const;
  const ended = runVerb(
    { invocation: invocationOfRow(verb, "ada"), target },
    { caller, paths, ports: await deps.openPorts() },
    {
      ...deps,
      openStdin: () => input.readable,
      out: (text) => writer.write(new TextEncoder().encode(text)),
      takeOverStop: () => stop.signal,
      secretValue: undefined,
    },
  );
  const stream = ndJsonStream(input.writable, output.readable);
  const editor = await connectEditor(stream, choosing("reject_once"));
  const end = async () => {
    stop.abort();
    const code = await ended;
    await writer.close();
    await editor.closed;
    assert.deepEqual([code, printed.err], [0, ""]);
  };
  return { editor, shard, end };
}

Deno.test("acp refuses prompts of an agent that is no longer an admin", async () => {
  const { editor, shard, end } = await editorOf(ADMIN);
  const sessionId = await editor.open();
  await shard("zoe");
  const refused = await editor.prompt(sessionId, "hello");
  assert.match(String(refused), /the target must be the caller, or the caller an admin/);
  await end();
});

Deno.test("acp answers without a dial unit, and a signal ends it", async () => {
  const { editor, end } = await editorOf(OPERATOR);
  const refused = await editor.prompt(await editor.open(), "hello");
  assert.match(String(refused), /its dial unit is not running.*\nhint: fleetctl agents show ada/);
  await end();
});
