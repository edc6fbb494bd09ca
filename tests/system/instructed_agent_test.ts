/**
 * The working day of an agent of the built-in runtime on a booted host, under its real unit: it
 * follows `AGENTS.md`, loads a skill, remembers a fact, and works through two conversations and a
 * summary. A ceiling pauses it, and its owner lets it go on. The model is a scripted endpoint; the
 * test reads what it was sent.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type FakeModel, type ModelRequest, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { bootHost } from "tests/support/booted_host.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { registryInside } from "tests/support/host_registry.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import {
  copyInto,
  DIAL,
  installPackage,
  PackagedHost,
  ROLES,
} from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";

const MODEL_PORT = 9001;
const HOME = "/home/ada";
const MEMORY = `${HOME}/.runtime-b/agent/MEMORY.md`;
const SPENT = { input: 100, output: 10, cachedRead: 0, cachedWrite: 0 };
const LONG = "lorem ipsum dolor ".repeat(230);
const TURNS_MAX = 8;
const OWNER = "ada@example.org";

const FILES: Readonly<Record<string, string>> = {
  [`${HOME}/AGENTS.md`]: "Sign every answer with your name.",
  [`${HOME}/workspace/AGENTS.md`]: "Run the tests with bin/check.",
  [`${HOME}/.agents/skills/release/SKILL.md`]:
    "---\nname: release\ndescription: How to cut a release.\n---\nFirst run bin/changelog.\n",
};

interface TurnAnswer {
  readonly outcome: string;
  readonly text: string;
}

class Scene extends PackagedHost {
  readonly model: FakeModel;

  constructor(host: PackagedHost["host"], model: FakeModel) {
    super(host);
    this.model = model;
  }

  /** Sends a turn from the command line; returns all requests that the model got. */
  async say(
    text: string,
    ...options: readonly string[]
  ): Promise<{ readonly turn: TurnAnswer; readonly requests: readonly ModelRequest[] }> {
    const from = this.model.requests.length;
    const printed = await this.must("fleetctl", "turn", "ada", ...options, "--json", text);
    const turn = JSON.parse(printed) as TurnAnswer;
    assert.equal(turn.outcome, "completed", printed);
    return { turn, requests: this.model.requests.slice(from) };
  }

  /** The model answers with `text`, and requests for a summary with `summary`. */
  answers(text: string, summary: string): void {
    const reply = (request: ModelRequest) => {
      const isSummary = isSummaryRequest(request);
      if (isSummary) this.model.script(reply);
      return { kind: "answer", text: isSummary ? summary : text, usage: SPENT } as const;
    };
    this.model.forget();
    this.model.script(reply);
  }

  /** Writes a file as ada. */
  async write(path: string, text: string): Promise<void> {
    const script = 'mkdir -p "$(dirname "$1")" && cat > "$1"';
    const as = { user: "ada", input: text };
    const written = await this.run(["sh", "-c", script, "sh", path], as);
    assert.equal(written.code, 0, written.err);
  }

  /** Returns the kinds and texts of the transcript as the page reads it. */
  async transcript(): Promise<readonly { readonly kind: string; readonly text: string }[]> {
    const path = "/api/transcript?agent=ada&limit=500";
    const { body } = await this.askCockpit(OWNER, { method: "GET", path });
    const events = body.events as readonly {
      readonly kind: string;
      readonly payload: Readonly<Record<string, unknown>>;
    }[];
    return events.map(({ kind, payload }) => ({ kind, text: String(payload.text ?? "") }));
  }
}

function promptOf(request: ModelRequest | undefined): string {
  return String(request?.body.messages[0]?.content);
}

function sentBy(request: ModelRequest | undefined): string {
  return JSON.stringify(request?.body.messages);
}

function isSummaryRequest(request: ModelRequest): boolean {
  return promptOf(request).includes("summarise the earlier part");
}

async function setUp(scene: Scene): Promise<void> {
  await Deno.writeTextFile(`${scene.host.root}/etc/fleetctl/roles.yaml`, ROLES);
  const owner = ["--channel", "webview", "--user-email"];
  await scene.must("fleetctl", "agents", "add", "ada", ...owner, OWNER);
  await scene.must("fleetctl", "agents", "add", "bea", ...owner, "bea@example.org");
  const settings = {
    FLEETCTL_BASE_URL: `http://127.0.0.1:${MODEL_PORT}/v1`,
    FLEETCTL_MODEL_KEY: "sk-0123456789abcdef",
    FLEETCTL_CONTEXT_TOKENS: "9000",
  };
  for (const [name, value] of Object.entries(settings)) {
    const words = ["fleetctl", "secret", "set", name, "--agent", "ada", "--value", "-"];
    assert.equal((await scene.run(words, { input: value })).code, 0);
  }
  const model = ["--provider", "openai-compatible", "--model", "m"];
  await scene.must("fleetctl", "agents", "set", "ada", ...model);
  await scene.must("fleetctl", "apply");
  await scene.must("fleetctl", "agents", "restart", "ada");
  for (const [path, text] of Object.entries(FILES)) await scene.write(path, text);
}

/** Instructions and skill are in the prompt; the model loads the skill and remembers a fact. */
async function firstConversation(scene: Scene): Promise<void> {
  scene.model.script(
    { kind: "answer", calls: [{ tool: "skill", arguments: { name: "release" } }] },
    {
      kind: "answer",
      calls: [{ tool: "remember", arguments: { text: "Releases are cut on Tuesdays" } }],
    },
    { kind: "answer", text: "It is noted. ada", usage: SPENT },
  );
  const { requests } = await scene.say("We release on Tuesdays. Get ready.");
  const prompt = promptOf(requests[0]);
  for (const [path, text] of Object.entries(FILES)) {
    assert.ok(prompt.includes(path), path);
    if (path.endsWith("AGENTS.md")) assert.ok(prompt.includes(text), path);
  }
  assert.doesNotMatch(prompt, /bin\/changelog/, "a skill is loaded only when it applies");
  const hash = (await scene.must("sha256sum", `${HOME}/.agents/skills/release/SKILL.md`))
    .slice(0, 64);
  assert.match(sentBy(requests[1]), new RegExp(`${hash}[^]*First run bin/changelog`));
  assert.equal(await scene.must("cat", MEMORY), "- Releases are cut on Tuesdays\n");
  assert.equal(await scene.modeOf(MEMORY), "600 ada:ada");
}

/** Another conversation knows the memory and the instructions, and nothing else of the first. */
async function secondConversation(scene: Scene): Promise<void> {
  scene.model.script({ kind: "answer", text: "On Tuesday. ada", usage: SPENT });
  const { requests } = await scene.say("When do we release?", "--conversation", "trip");
  const prompt = promptOf(requests[0]);
  assert.match(prompt, /- Releases are cut on Tuesdays/);
  assert.match(prompt, /Run the tests with bin\/check/);
  assert.doesNotMatch(sentBy(requests[0]), /Get ready/);
}

/** Another agent's user reads none of these files. */
async function keptFromOthers(scene: Scene): Promise<void> {
  for (const path of [...Object.keys(FILES), MEMORY]) {
    const read = await scene.run(["cat", path], { user: "bea" });
    assert.notEqual(read.code, 0, `bea reads ${path}`);
    assert.match(read.err, /Permission denied/);
  }
}

/** The first conversation fills its window; the model summarises it, and the owner corrects it. */
async function summary(scene: Scene): Promise<void> {
  let asked: ModelRequest | undefined;
  for (let turn = 1; asked === undefined; turn++) {
    assert.ok(turn <= TURNS_MAX, "the window is never full");
    scene.answers(`answer ${turn}. ada`, "GOAL: release 2.0");
    const { requests } = await scene.say(`turn ${turn} ${LONG}`);
    asked = requests.find(isSummaryRequest);
    if (asked === undefined) continue;
    const next = requests.at(-1);
    assert.match(sentBy(next), /GOAL: release 2\.0/);
    assert.match(promptOf(next), /Sign every answer[^]*Releases are cut on Tuesdays/);
  }
  const shown = await scene.say("/summary");
  assert.equal(shown.requests.length, 0);
  assert.match(JSON.stringify(shown.turn), /GOAL: release 2\.0/);
  await scene.say("/summary GOAL: release 3.0");
  // The next summary, if the window is still full, includes this one.
  scene.answers("Understood. ada", "GOAL: release 3.0, later");
  const { requests } = await scene.say("go on");
  assert.match(sentBy(requests[0]), /GOAL: release 3\.0/);
  assert.doesNotMatch(sentBy(requests[0]), /GOAL: release 2\.0/);
  const texts = (await scene.transcript()).filter(({ kind }) => kind === "summary");
  const first = texts.map(({ text }) => text).slice(0, 2);
  assert.deepEqual(first, ["GOAL: release 2.0", "GOAL: release 3.0"]);
}

/** At its ceiling the agent waits; the owner allows more in the page, and the turn goes on. */
async function ceiling(scene: Scene): Promise<void> {
  const before = await scene.property(DIAL, "InvocationID");
  await scene.must("fleetctl", "agents", "set", "ada", "--ceiling", "day=100-tokens");
  const stopped = await scene.run(["fleetctl", "turn", "ada", "one more"]);
  assert.notEqual(stopped.code, 0);
  assert.match(stopped.out + stopped.err, /has spent .* of the 100 tokens .* operator must allow/);
  const more = "day=100-tokens+900k-tokens";
  await scene.must("fleetctl", "agents", "set", "ada", "--ceiling", more);
  scene.answers("Done. ada", "GOAL: release 3.0, later");
  const from = scene.model.requests.length;
  const { answer } = await scene.turn("one more", { approves: true });
  assert.equal(answer, "Done. ada");
  assert.ok(scene.model.requests.length > from);
  assert.match(sentBy(scene.model.requests.at(-1)), /GOAL: release 3\.0/);
  assert.equal(await scene.property(DIAL, "InvocationID"), before, "no restart was needed");
}

Deno.test("an agent with instructions works through a day on a real host", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target" });
  const step = hostSteps(t, [host]);
  const model = await startFakeModel();
  const scene = new Scene(host, model);
  try {
    await using _model = await registryInside(host, model.baseUrl, MODEL_PORT);
    await step("an agent with AGENTS.md and a skill", async () => {
      for (const name of ENTRIES_OF_UP) {
        await copyInto(host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
      }
      await installPackage(host, out);
      await setUp(scene);
    });
    await step("it follows them, loads the skill and remembers", () => firstConversation(scene));
    await step("another conversation knows the memory", () => secondConversation(scene));
    await step("another agent reads none of it", () => keptFromOthers(scene));
    await step("a full window becomes a summary, which is edited", () => summary(scene));
    await step("a ceiling pauses it until its owner allows more", () => ceiling(scene));
  } finally {
    await model.close();
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
