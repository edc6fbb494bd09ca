/**
 * Unmodified Claude Code as the runtime of an agent on a booted host. It is installed and chosen by
 * the steps of `docs/runtime.md` and runs below the real unit, with an MCP by URL whose tools are
 * marked. The proof is what the model saw.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { bootHost, poll } from "tests/support/booted_host.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { registryInside } from "tests/support/host_registry.ts";
import { documentedCommands } from "tests/support/documented_steps.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { markedHub } from "tests/support/marked_hub.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { copyInto, DIAL, installPackage } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ProgramHost } from "tests/support/program_host.ts";
import { programFile, programNamed } from "tests/support/runtime_programs.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";

const MODEL_PORT = 9001;
const HUB_PORT = 9002;
const KEY_OF_MODEL = "sk-0123456789abcdef";

class ClaudeScene extends ProgramHost {
  /** Puts the program where npm installs it; a booted host reaches no registry. */
  async installProgram(): Promise<void> {
    const folder = "/usr/local/lib/node_modules/@anthropic-ai/claude-code/bin";
    await copyInto(this.host, programFile(programNamed("claude-code")), folder);
    await this.must("mv", `${folder}/claude`, `${folder}/claude.exe`);
    await this.must("ln", "-s", `${folder}/claude.exe`, "/usr/local/bin/claude");
  }

  /** Returns how often a human was asked so far. */
  async questions(): Promise<number> {
    return (await this.approvals()).length;
  }
}

async function prepare(scene: ClaudeScene): Promise<void> {
  await scene.addAda(HUB_PORT);
  await scene.mark({ publish: "ask", wipe: "block" });
}

/** Runs the documented steps; the program is already where npm would install it. */
async function followSteps(scene: ClaudeScene): Promise<void> {
  await scene.installProgram();
  await scene.secret("ANTHROPIC_BASE_URL", `http://127.0.0.1:${MODEL_PORT}`);
  for (const line of await documentedCommands("Claude Code")) {
    // On a terminal, `secret set` asks for the value.
    const command = line.startsWith("fleetctl secret set") ? `${line} --value -` : line;
    const ended = await scene.run(["sh", "-c", command], { input: KEY_OF_MODEL });
    assert.equal(ended.code, 0, `${line}\n${ended.out}${ended.err}`);
  }
}

async function listsItsMcps(scene: ClaudeScene): Promise<void> {
  scene.model.script({ kind: "answer", text: "hello from the model" });
  const output = await scene.must("fleetctl", "turn", "ada", "say hello");
  assert.match(output, /^ada: hello from the model$/m);
  const first = scene.model.requests[0];
  assert.ok(first !== undefined);
  assert.equal(first.headers.get("x-api-key"), KEY_OF_MODEL);
  const { tools } = sightOf(first);
  for (const tool of ["mcp__hub__read", "mcp__hub__publish", "mcp__browser__browser_navigate"]) {
    assert.ok(tools.includes(tool), `${tool} is none of ${tools.join(" ")}`);
  }
  assert.ok(!tools.includes("mcp__hub__wipe"), "a blocked tool is not declared");
  const wired = JSON.parse(await scene.must("fleetctl", "mcp", "wired", "ada", "--json"));
  const states = (wired.mcps as readonly { name: string; state: string; load: string }[])
    .map(({ name, state, load }) => `${name} ${state} ${load}`);
  for (const name of ["hub", "browser"]) {
    assert.ok(states.includes(`${name} live connected`), states.join("\n"));
  }
}

async function runsAsTheAgent(scene: ClaudeScene): Promise<void> {
  const pid = (await scene.must("pgrep", "-u", "ada", "-f", "^/usr/local/bin/claude")).trim();
  assert.match(pid, /^\d+$/);
  assert.equal(await scene.ownerOfProcess(pid), "ada");
  const cwd = (await scene.must("readlink", `/proc/${pid}/cwd`)).trim();
  assert.equal(cwd, "/home/ada/workspace");
  assert.equal(await scene.modeOf("/home/ada/.claude.json"), "600 ada:ada");
  assert.ok(!(await scene.must("ps", "-o", "args=", "-p", pid)).includes(KEY_OF_MODEL));
  assert.equal(await scene.property(DIAL, "NRestarts"), "0");
}

async function readsAskNobody(scene: ClaudeScene): Promise<void> {
  const read = await scene.call("mcp__hub__read", { page: "home" });
  assert.deepEqual(read, { text: "read of home is done", isError: false });
  assert.equal(await scene.questions(), 0);
}

async function blockedIsRefused(scene: ClaudeScene): Promise<void> {
  const hidden = await scene.call("mcp__hub__wipe", { page: "home" });
  assert.equal(hidden.isError, true, hidden.text);
  // The program already knows this tool; the mark changes while it runs.
  await scene.mark({ publish: "ask", wipe: "block", archive: "block" });
  const blocked = await scene.call("mcp__hub__archive", { page: "home" });
  assert.equal(blocked.isError, true);
  assert.match(blocked.text, /"archive" of MCP "hub": the tool is declared "risk: block"/);
  assert.deepEqual(scene.hub.calls, ["read home"]);
  assert.equal(await scene.questions(), 0);
}

async function askedOnce(scene: ClaudeScene): Promise<void> {
  for (const verb of ["approve", "deny"]) {
    const before = await scene.questions();
    const called = scene.call("mcp__hub__publish", { page: verb });
    const { id, mcp, tool, arguments: given } = await scene.untilAsked();
    assert.deepEqual([mcp, tool, given], ["hub", "publish", { page: verb }]);
    const why = verb === "deny" ? ["--reason", "not on a Friday"] : [];
    await scene.must("fleetctl", "approvals", verb, id, ...why);
    const { text, isError } = await called;
    assert.equal(await scene.questions(), before + 1);
    assert.equal(isError, verb === "deny");
    assert.match(
      text,
      verb === "deny" ? /denied it: not on a Friday/ : /^publish of approve is done$/,
    );
  }
  assert.deepEqual(scene.hub.calls, ["read home", "publish approve"]);
}

async function ownToolsTellTheReason(scene: ClaudeScene): Promise<void> {
  const called = scene.call("Bash", { command: "touch /home/ada/workspace/made" });
  const { id, mcp, tool } = await scene.untilAsked();
  assert.deepEqual([mcp, tool], ["", "Bash"]);
  await scene.must("fleetctl", "approvals", "deny", id, "--reason", "make no files");
  const denied = await called;
  assert.equal(denied.isError, true);
  assert.match(denied.text, /denied it: make no files/);
  assert.equal((await scene.run(["test", "-e", "/home/ada/workspace/made"])).code, 1);

  const again = scene.call("Bash", { command: "touch /home/ada/workspace/made" });
  await scene.must("fleetctl", "approvals", "approve", (await scene.untilAsked()).id);
  assert.equal((await again).isError, false);
  assert.match(await scene.modeOf("/home/ada/workspace/made"), / ada:ada$/);
}

const DRINKS = [{
  question: "Which drink?",
  header: "Drink",
  multiSelect: false,
  options: [{ label: "Tea", description: "hot" }, { label: "Water", description: "cold" }],
}];

/** The program asks the person; root answers on the command line. */
async function asksThePerson(scene: ClaudeScene): Promise<void> {
  const before = await scene.questions();
  const called = scene.call("AskUserQuestion", { questions: DRINKS });
  const { id, fields } = await scene.untilQuestion();
  const [drink] = fields;
  assert.ok(drink !== undefined);
  const listed = await scene.must("fleetctl", "questions", "list", "ada");
  assert.match(listed, /Which drink\?/);
  await scene.must("fleetctl", "questions", "answer", id, "--set", `${drink.name}=Water`);
  const { text, isError } = await called;
  assert.equal(isError, false, text);
  assert.match(text, /"Which drink\?"="Water"/);
  assert.equal(await scene.questions(), before, "a question is no approval");
  const late = await scene.run(["fleetctl", "questions", "decline", id]);
  assert.equal(late.code, 1, late.out);

  const again = scene.call("AskUserQuestion", { questions: DRINKS });
  await scene.must("fleetctl", "questions", "decline", (await scene.untilQuestion()).id);
  assert.ok(!(await again).text.includes('="'), "no answer reached the model");
}

async function resumesWithTools(scene: ClaudeScene): Promise<void> {
  await scene.must("fleetctl", "agents", "restart", "ada");
  const { tools, userTexts } = await scene.say("and now?");
  assert.ok(tools.includes("mcp__hub__read"), tools.join(" "));
  assert.ok(userTexts.some((text) => text.includes("say hello")), "the conversation continues");
}

const WORKSPACE = "/home/ada/workspace";

async function inMode(scene: ClaudeScene, mode: string, ...more: readonly string[]) {
  await scene.must("fleetctl", "agents", "set", "ada", "--ask", mode, ...more);
  await scene.must("fleetctl", "agents", "restart", "ada");
  assert.match(await scene.must("fleetctl", "agents", "show", "ada"), new RegExp(`asks +${mode}`));
}

async function isMissing(scene: ClaudeScene, path: string): Promise<void> {
  assert.equal((await scene.run(["test", "-e", path])).code, 1, path);
}

async function editsAFile(scene: ClaudeScene): Promise<void> {
  const file = `${WORKSPACE}/edited`;
  const called = scene.call("Write", { file_path: file, content: "x" });
  await scene.must("fleetctl", "approvals", "approve", (await scene.untilAsked()).id);
  assert.equal((await called).isError, false);
  assert.equal(await scene.must("cat", file), "x");
}

const DEFINITION = "/etc/fleetctl/runtimes.d/claude-code.yaml";

async function sleepsWhenIdle(scene: ClaudeScene): Promise<void> {
  const file = `${scene.host.root}${DEFINITION}`;
  await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(file, "idle_seconds: 2\n");
  await scene.must("fleetctl", "agents", "restart", "ada");
  await scene.say("the colour is violet");
  const isAsleep = async () => {
    const found = await scene.run(["pgrep", "-u", "ada", "-f", "^/usr/local/bin/claude"]);
    return found.code === 1 ? true : undefined;
  };
  await poll("sleeping program", isAsleep);
  assert.equal(await scene.property(DIAL, "ActiveState"), "active");
  const { tools, userTexts } = await scene.say("which colour?");
  assert.ok(userTexts.some((text) => text.includes("the colour is violet")), userTexts.join("\n"));
  assert.ok(tools.includes("mcp__hub__read"), tools.join(" "));
  await Deno.remove(file);
  await scene.must("fleetctl", "agents", "restart", "ada");
}

/** Denies the call that waits; it is about this tool of the program. */
async function denyOwn(scene: ClaudeScene, wanted: string): Promise<void> {
  const { id, mcp, tool } = await scene.untilAsked();
  assert.deepEqual([mcp, tool], ["", wanted]);
  await scene.must("fleetctl", "approvals", "deny", id, "--reason", "stay inside");
}

async function modesDecide(scene: ClaudeScene): Promise<void> {
  await inMode(scene, "outside");
  const before = await scene.questions();
  const write = (path: string) => scene.call("Write", { file_path: path, content: "x" });
  assert.equal((await write(`${WORKSPACE}/in`)).isError, false);
  assert.match(await scene.modeOf(`${WORKSPACE}/in`), / ada:ada$/);
  assert.equal(await scene.questions(), before);

  const linked = await scene.run(["ln", "-s", "/home/ada", `${WORKSPACE}/home`], { user: "ada" });
  assert.equal(linked.code, 0, linked.err);
  for (const path of ["/home/ada/out", `${WORKSPACE}/home/out`]) {
    const called = write(path);
    await denyOwn(scene, "Write");
    assert.match((await called).text, /denied it: stay inside/);
    await isMissing(scene, path);
  }
  const listed = scene.call("Bash", { command: "echo hello", description: "say hello" });
  await denyOwn(scene, "Bash");
  assert.equal((await listed).isError, true);

  await inMode(scene, "never");
  const asked = await scene.questions();
  const free = await scene.call("Bash", { command: "touch /home/ada/out", description: "a file" });
  assert.equal(free.isError, false, free.text);
  assert.match(await scene.modeOf("/home/ada/out"), / ada:ada$/);
  assert.equal(await scene.questions(), asked);
  // The mark of an MCP holds.
  const published = scene.call("mcp__hub__publish", { page: "never" });
  const { id, mcp } = await scene.untilAsked();
  assert.equal(mcp, "hub");
  await scene.must("fleetctl", "approvals", "deny", id);
  assert.equal((await published).isError, true);
}

/** The demo model of the built-in runtime calls the tools that the text names. */
async function builtInObeys(scene: ClaudeScene): Promise<void> {
  await inMode(scene, "outside", "--runtime", "runtime-b");
  const before = await scene.questions();
  const say = (tool: string, input: unknown) =>
    scene.must("fleetctl", "turn", "ada", `call ${tool} ${JSON.stringify(input)}`);
  await say("write", { path: "built-in", content: "x" });
  assert.match(await scene.modeOf(`${WORKSPACE}/built-in`), / ada:ada$/);
  assert.equal(await scene.questions(), before);
  const calls = [
    ["write", { path: "home/again", content: "x" }],
    ["bash", { command: "touch /home/ada/again" }],
  ] as const;
  for (const [tool, input] of calls) {
    const output = say(tool, input);
    await denyOwn(scene, tool);
    assert.match(await output, /denied it: stay inside/);
    await isMissing(scene, "/home/ada/again");
  }
  await inMode(scene, "never");
  await say("bash", { command: "touch /home/ada/again" });
  assert.match(await scene.modeOf("/home/ada/again"), / ada:ada$/);
}

Deno.test("Claude Code is an agent's runtime on a host, and the gate holds for it", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target" });
  const step = hostSteps(t, [host]);
  const model = await startFakeModel();
  const hub = markedHub();
  const scene = new ClaudeScene(host, model, hub);
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
    await step("the documented steps make it the agent's runtime", () => followSteps(scene));
    await step("its first turn declares the agent's MCPs", () => listsItsMcps(scene));
    await step("it runs as the agent, in its workspace", () => runsAsTheAgent(scene));
    await step("a tool without a mark runs without a question", () => readsAskNobody(scene));
    await step("a blocked tool is refused, and the model reads why", () => blockedIsRefused(scene));
    await step("a call of a marked tool asks once", () => askedOnce(scene));
    await step(
      "the reason reaches the model for its own tools",
      () => ownToolsTellTheReason(scene),
    );
    await step("its question is answered on the command line", () => asksThePerson(scene));
    await step("the first turn after a restart has its tools", () => resumesWithTools(scene));
    await step("it edits a file after an approval", () => editsAFile(scene));
    await step("it shows its model an image", async () => {
      assert.deepEqual(await scene.show("what is this?"), ["image/png 64×48"]);
    });
    await step("it sleeps when idle, and wakes with its history", () => sleepsWhenIdle(scene));
    await step("the mode decides which built-in tools ask", () => modesDecide(scene));
    await step("the built-in runtime obeys the mode too", () => builtInObeys(scene));
  } finally {
    await hub[Symbol.asyncDispose]();
    await model.close();
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
