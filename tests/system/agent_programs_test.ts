/**
 * Unmodified third-party agent programs as the runtime of an agent on a booted host, one after the
 * other. Each runs below the real unit, with an MCP by URL whose tools are marked. The proof is
 * what the model saw. Claude Code has its own test.
 *
 * @module
 */

import assert from "node:assert/strict";
import { hasNoTools, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { bootHost } from "tests/support/booted_host.ts";
import { documentedCommands } from "tests/support/documented_steps.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { registryInside } from "tests/support/host_registry.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { markedHub } from "tests/support/marked_hub.ts";
import { copyInto, installPackage } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ProgramHost } from "tests/support/program_host.ts";
import {
  installedModules,
  type RuntimeProgram,
  shellCall,
  wantedPrograms,
} from "tests/support/runtime_programs.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";

const MODEL_PORT = 9001;
const HUB_PORT = 9002;

async function prepare(scene: ProgramHost): Promise<void> {
  await scene.addAda(HUB_PORT);
  await scene.mark({ publish: "ask", wipe: "block" });
}

/**
 * Puts the program where npm installs it, and follows docs/runtime.md. A booted host reaches no
 * registry.
 */
async function choose(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  const folder = `/usr/local/lib/${program.name}`;
  await copyInto(scene.host, installedModules(program), folder);
  const modules = `${folder}/node_modules`;
  await scene.must("ln", "-sf", `${modules}/${program.file}`, program.definition().command);
  const hasNode = await scene.run(["test", "-e", `${modules}/.bin/node`]);
  if (hasNode.code === 0) await scene.must("ln", "-sf", `${modules}/.bin/node`, "/usr/local/bin");
  const home = `${scene.host.root}/home/ada`;
  // The package has filled the program folder.
  const root = await Deno.makeTempDir();
  const env = await program.connect({ root, home, url: `http://127.0.0.1:${MODEL_PORT}` });
  await Deno.remove(root, { recursive: true });
  // Add only the program's model configuration.
  await scene.must(
    "sh",
    "-c",
    "chown -R ada:ada /home/ada/.pi /home/ada/.config /home/ada/.codex || true",
  );
  for (const line of await documentedCommands(program.name)) {
    // On a terminal, `secret set` asks for the value.
    const [, secret = ""] = /^fleetctl secret set (\S+)/.exec(line) ?? [];
    const command = secret === "" ? line : `${line} --value -`;
    const ended = await scene.run(["sh", "-c", command], { input: env[secret] ?? "" });
    assert.equal(ended.code, 0, `${line}\n${ended.out}${ended.err}`);
  }
}

/** The program edits a file of the workspace once a person has approved. */
async function editsAFile(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  const file = `/home/ada/workspace/${program.name}-edited`;
  const { tool, arguments: input } = program.writeCall(file);
  const called = scene.call(tool, input);
  const { id, mcp } = await scene.untilAsked();
  assert.equal(mcp, "");
  assert.equal((await scene.run(["test", "-e", file])).code, 1);
  await scene.must("fleetctl", "approvals", "approve", id);
  await called;
  assert.equal(await scene.must("cat", file), "x\n");
}

async function declaresItsMcps(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  const { tools } = await scene.say("say hello");
  for (const tool of ["read", "publish"]) {
    assert.ok(tools.includes(program.toolName("hub", tool)), tools.join(" "));
  }
  assert.ok(!tools.includes(program.toolName("hub", "wipe")), "a blocked tool is not declared");
  const wired = JSON.parse(await scene.must("fleetctl", "mcp", "wired", "ada", "--json"));
  const hub = wired.mcps.find((mcp: { name: string }) => mcp.name === "hub");
  assert.deepEqual([hub.state, hub.load], ["live", "connected"]);
}

async function readsAskNobody(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  const before = (await scene.approvals()).length;
  const { text } = await scene.call(program.toolName("hub", "read"), { page: program.name });
  assert.match(text, new RegExp(`read of ${program.name} is done`));
  assert.equal((await scene.approvals()).length, before);
  assert.deepEqual(scene.hub.calls.slice(-1), [`read ${program.name}`]);
}

async function askedOnce(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  const page = program.name;
  const made = scene.hub.calls.length;
  for (const verb of ["approve", "deny"]) {
    const before = (await scene.approvals()).length;
    const called = scene.call(program.toolName("hub", "publish"), { page });
    const { id, mcp, tool, arguments: given } = await scene.untilAsked();
    assert.deepEqual([mcp, tool, given], ["hub", "publish", { page }]);
    const why = verb === "deny" ? ["--reason", "not on a Friday"] : [];
    await scene.must("fleetctl", "approvals", verb, id, ...why);
    const { text } = await called;
    assert.equal((await scene.approvals()).length, before + 1, "asked more than once");
    assert.match(text, verb === "deny" ? /denied it: not on a Friday/ : /publish of .* is done/);
  }
  assert.deepEqual(scene.hub.calls.slice(made), [`publish ${page}`]);
}

async function ownToolsAreAsked(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  const file = `/home/ada/workspace/${program.name}`;
  const command = `touch ${file}`;
  const { call, shown } = shellCall(program, command);
  const called = scene.call(call.tool, call.arguments);
  const { id, mcp, tool, arguments: given } = await scene.untilAsked();
  assert.deepEqual([mcp, tool, given.command], ["", program.shell, shown]);
  await scene.must("fleetctl", "approvals", "deny", id, "--reason", "make no files");
  await called;
  assert.equal((await scene.run(["test", "-e", file])).code, 1);
  const { results, userTexts } = await scene.say("and now?");
  const told = [...results.map(({ text }) => text), ...userTexts]
    .filter((text) => text.includes("denied it: make no files"));
  assert.equal(told.length, 1, told.join("\n"));
}

async function ownToolsRunWhenAllowed(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  const file = `/home/ada/workspace/${program.name}-allowed`;
  const { call } = shellCall(program, `touch ${file}`);
  const called = scene.call(call.tool, call.arguments);
  await scene.must("fleetctl", "approvals", "approve", (await scene.untilAsked()).id);
  await called;
  assert.equal((await scene.run(["test", "-e", file])).code, 0);
}

async function resumesWithTools(scene: ProgramHost, program: RuntimeProgram): Promise<void> {
  await scene.must("fleetctl", "agents", "restart", "ada");
  const { tools, userTexts } = await scene.say("still there?");
  assert.ok(tools.includes(program.toolName("hub", "read")), tools.join(" "));
  assert.ok(userTexts.some((text) => text.includes("say hello")), "the conversation goes on");
}

Deno.test("the gate applies to other agent programs; each call asks once", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target" });
  const step = hostSteps(t, [host]);
  const model = await startFakeModel(hasNoTools);
  const hub = markedHub();
  const scene = new ProgramHost(host, model, hub);
  try {
    await using _model = await registryInside(host, model.baseUrl, MODEL_PORT);
    await using _hub = await registryInside(host, hub.url, HUB_PORT);
    await step("a host with an agent and a marked MCP by URL", async () => {
      for (const name of ENTRIES_OF_UP) {
        await copyInto(host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
      }
      await installPackage(host, out);
      await prepare(scene);
    });
    for (const program of wantedPrograms().filter(({ name }) => name !== "claude-code")) {
      const { name } = program;
      await step(`${name} becomes the agent's runtime`, () => choose(scene, program));
      await step(`${name} has its MCPs in its first turn`, () => declaresItsMcps(scene, program));
      await step(`${name} reads without asking a person`, () => readsAskNobody(scene, program));
      await step(`a marked call of ${name} asks once`, () => askedOnce(scene, program));
      await step(`${name} asks about a command`, () => ownToolsAreAsked(scene, program));
      await step(`${name} runs a command that was allowed`, () => {
        return ownToolsRunWhenAllowed(scene, program);
      });
      await step(`${name} edits a file after an approval`, () => editsAFile(scene, program));
      await step(`${name} shows its model an image`, async () => {
        assert.deepEqual(await scene.show("what is this?"), ["image/png 64×48"]);
      });
      await step(`${name} has its tools after a restart`, () => resumesWithTools(scene, program));
    }
  } finally {
    await hub[Symbol.asyncDispose]();
    await model.close();
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
