/**
 * A booted host whose agent runs a third-party agent program, with a scripted model, an MCP by URL
 * whose tools are marked, and a record of what the model saw in a turn.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ApprovalView, QuestionView } from "core/dial/local_frames.ts";
import type { FakeModel } from "tests/fakes/model_endpoint.ts";
import { poll } from "tests/support/booted_host.ts";
import { KEY } from "tests/support/http_mcp.ts";
import type { MarkedHub } from "tests/support/marked_hub.ts";
import {
  imagesSeen,
  type ModelSight,
  type SeenResult,
  sightOf,
} from "tests/support/model_sight.ts";
import { PackagedHost, ROLES } from "tests/support/packaged_host.ts";
import { pngOf } from "tests/support/sample_images.ts";

/** The host as its operator sees it. */
export class ProgramHost extends PackagedHost {
  readonly model: FakeModel;
  readonly hub: MarkedHub;

  constructor(host: PackagedHost["host"], model: FakeModel, hub: MarkedHub) {
    super(host);
    this.model = model;
    this.hub = hub;
  }

  async secret(name: string, value: string): Promise<void> {
    const words = ["fleetctl", "secret", "set", name, "--agent", "ada", "--value", "-"];
    const ended = await this.run(words, { input: value });
    assert.equal(ended.code, 0, ended.err);
  }

  /** Adds ada and her hub to a new host; `port` is that of the hub on the host's loopback. */
  async addAda(port: number): Promise<void> {
    await Deno.writeTextFile(`${this.host.root}/etc/fleetctl/roles.yaml`, ROLES);
    const owner = ["--channel", "webview", "--user-email", "ada@example.org"];
    await this.must("fleetctl", "agents", "add", "ada", ...owner);
    const url = `http://127.0.0.1:${port}/mcp?key={HUB_TOKEN}`;
    const header = "Authorization: Bearer {HUB_TOKEN}";
    const entry = ["hub", "--url", url, "--header", header, "--env", "HUB_TOKEN"];
    await this.must("fleetctl", "mcp", "catalog", "add", ...entry);
    await this.secret("HUB_TOKEN", KEY);
    await this.must("fleetctl", "mcp", "add", "hub", "ada");
  }

  /** Sends a turn that the model answers with a text; returns what the model saw first. */
  async say(text: string): Promise<ModelSight> {
    const from = this.model.requests.length;
    this.model.script({ kind: "answer", text: `you said ${text}` });
    await this.must("fleetctl", "turn", "ada", text);
    const first = this.model.requests[from];
    assert.ok(first !== undefined);
    return sightOf(first);
  }

  /** Sends a turn with an image; returns the images that the model saw. */
  async show(text: string): Promise<readonly string[]> {
    const from = this.model.requests.length;
    await Deno.writeFile(`${this.host.root}/root/shot.png`, await pngOf(64, 48));
    this.model.forget();
    this.model.script({ kind: "answer", text: "I see it" });
    await this.must("fleetctl", "turn", "ada", "--file", "/root/shot.png", text);
    const first = this.model.requests[from];
    assert.ok(first !== undefined);
    return imagesSeen(first);
  }

  /** Makes the model call a tool in a turn; returns the result as the model read it. */
  async call(tool: string, input: unknown): Promise<SeenResult> {
    const from = this.model.requests.length;
    this.model.forget();
    this.model.script(
      { kind: "answer", calls: [{ tool, arguments: input }] },
      { kind: "answer", text: "that was it" },
    );
    const turn = JSON.parse(await this.must("fleetctl", "turn", "ada", `use ${tool}`, "--json"));
    assert.equal(turn.outcome, "completed", JSON.stringify(turn));
    const last = this.model.requests.slice(from).at(-1);
    assert.ok(last !== undefined);
    const result = sightOf(last).results.at(-1);
    assert.ok(result !== undefined, JSON.stringify(last.body.messages));
    return result;
  }

  async approvals(): Promise<readonly ApprovalView[]> {
    return JSON.parse(await this.must("fleetctl", "approvals", "list", "--all", "--json"))
      .approvals;
  }

  /** Waits for a call that needs approval, and returns it. */
  async untilAsked(): Promise<ApprovalView> {
    return await poll(
      "a call that waits",
      async () => (await this.approvals()).find(({ state }) => state === "asked"),
    );
  }

  /** Waits for a question of the program, and returns it. */
  async untilQuestion(): Promise<QuestionView> {
    return await poll("a question that waits", async () => {
      const listed = await this.must("fleetctl", "questions", "list", "--json");
      const { questions } = JSON.parse(listed) as { questions: readonly QuestionView[] };
      return questions.find(({ state }) => state === "asked");
    });
  }

  /** Marks tools of the hub in the catalog and exposes them; the agent's own entry is unchanged. */
  async mark(marks: Readonly<Record<string, string>>): Promise<void> {
    const file = `${this.host.root}/var/lib/fleetctl/repo/catalog/hub/mcp.yaml`;
    const text = (await Deno.readTextFile(file))
      .replace(/^tools:\n(?: .*\n)*/m, "").replace(/^exposure:.*\n/m, "");
    const lines = Object.entries(marks)
      .map(([tool, risk]) => `  ${tool}: { risk: ${risk} }\n`).join("");
    await Deno.writeTextFile(file, `${text.trimEnd()}\nexposure: direct\ntools:\n${lines}`);
    await this.must("fleetctl", "apply");
  }
}
