/**
 * The container image as `./dev build` makes it and as docs/teamchat.md runs it: a read-only root,
 * no capabilities, an ordinary user. It answers its health check, rejects requests without a token,
 * delivers a message to an agent and returns the answer, and survives a kill.
 *
 * @module
 */

import assert from "node:assert/strict";
import { generateDialKey } from "core/dial/proof.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import { VERSION } from "core/version.ts";
import { connectBare } from "tests/support/gateway_fixture.ts";
import { TREE } from "tests/support/module_graph.ts";
import { CONFINED, podmanIn } from "tests/image/podman.ts";
import {
  APP_ID,
  APP_SECRET,
  type ConnectorKit,
  type ServedKit,
  serveKit,
  TENANT,
} from "tests/teamchat/connector/kit.ts";
import { agentOf, BEA_OWNER, messageOf, type TestAgent } from "tests/teamchat/fixture.ts";
import { bundleProgram } from "units/package/bundle.ts";
import { buildImage, IMAGE } from "units/package/image.ts";

const REVISION = "0123456789abcdef0123456789abcdef01234567";
const CREATED = 1_767_225_600;
const ORIGIN = "http://127.0.0.1:3978";
const NAME = "teamchat";

const folder = await Deno.makeTempDir({ prefix: "fleetctl-image-" });
const podman = podmanIn(`${folder}/podman`);

async function build(): Promise<string> {
  const shop = {
    files: denoFiles(),
    processes: systemProcesses(),
    tree: TREE.replace(/\/$/, ""),
    deno: await Deno.realPath(Deno.execPath()),
    env: { ...Deno.env.toObject(), NO_COLOR: "1", SOURCE_DATE_EPOCH: String(CREATED) },
  };
  const lib = `${folder}/lib`;
  const bundle = await bundleProgram(shop, { name: IMAGE, entry: "teamchat/main.ts" }, lib);
  assert.ok(bundle.ok, JSON.stringify(bundle));
  await Deno.copyFile(shop.deno, `${lib}/deno`);
  await Deno.chmod(`${lib}/deno`, 0o755);
  const archive = await buildImage(shop, {
    out: folder,
    lib,
    bundle: bundle.value,
    denoVersion: Deno.version.deno,
    revision: REVISION,
    copy: async (from, to) => {
      await Deno.copyFile(from, to);
      await Deno.chmod(to, ((await Deno.stat(from)).mode ?? 0o644) & 0o755);
    },
  });
  assert.ok(archive.ok, JSON.stringify(archive));
  return archive.value;
}

/** The inputs of a container: a cloud, an enrolled key, a volume. */
async function site(kit: ConnectorKit) {
  const { key } = await generateDialKey();
  await Deno.mkdir(`${folder}/etc`, { recursive: true });
  await Deno.writeTextFile(`${folder}/etc/dial-keys.json`, `{"bea":["${key.publicKey}"]}`);
  await Deno.writeTextFile(`${folder}/etc/teams-cloud.yaml`, kit.cloudFile);
  await Deno.writeTextFile(
    `${folder}/teams.env`,
    [
      `TEAMS_APP_ID=${APP_ID}`,
      `TEAMS_APP_PASSWORD=${APP_SECRET}`,
      `TEAMS_APP_TENANT_ID=${TENANT}`,
      `TEAMS_AGENTS={"${BEA_OWNER}":"bea"}`,
      "TEAMS_CLOUD=/etc/fleetctl/teams-cloud.yaml",
      "",
    ].join("\n"),
  );
  return key;
}

async function run(): Promise<void> {
  await podman.must(
    "run",
    "-d",
    "--name",
    NAME,
    ...CONFINED,
    "--env-file",
    `${folder}/teams.env`,
    "-v",
    "teamchat:/var/lib/fleetctl",
    "-v",
    `${folder}/etc:/etc/fleetctl:ro`,
    `${IMAGE}:${VERSION}`,
  );
  await ready(1);
}

/** Waits until the program has logged for the `times`-th time that it serves. */
async function ready(times: number): Promise<void> {
  while (true) {
    const { stderr, stdout } = await podman.say("logs", NAME);
    if ((stderr + stdout).split('"event":"ready"').length > times) return;
    const state = await podman.must("inspect", NAME, "--format", "{{.State.Status}}");
    assert.equal(state.trim(), "running", stderr + stdout);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function post(kit: ConnectorKit, message: unknown, authorization?: string): Promise<number> {
  const response = await fetch(`${ORIGIN}/api/messages`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(authorization === undefined
        ? { authorization: `Bearer ${await kit.keys.token(kit.serviceUrl)}` }
        : authorization === ""
        ? {}
        : { authorization }),
    },
    body: JSON.stringify(message),
  });
  await response.body?.cancel();
  return response.status;
}

async function register(key: Awaited<ReturnType<typeof site>>): Promise<TestAgent> {
  const statement = { agent: "bea", owner: BEA_OWNER, gateway: "127.0.0.1:3978" };
  const token = await signRegistration(
    { ...statement, nonce: crypto.randomUUID() },
    key,
    Date.now(),
  );
  const client = await connectBare("ws://127.0.0.1:3978/register", {
    headers: { authorization: `Bearer ${token}` },
  });
  return await agentOf(client, "bea");
}

async function answered(kit: ConnectorKit, text: string, agent: TestAgent): Promise<void> {
  const turn = await agent.begin();
  assert.equal(turn.text, text);
  agent.answer(turn.turnId, `answer to ${text}`);
  const delivery = await agent.next("delivery");
  assert.equal(delivery.outcome, "delivered");
  const texts = kit.conversation("a:bea").messages.map((message) => message.text);
  assert.equal(texts.filter((one) => one === `answer to ${text}`).length, 1);
}

async function confined(): Promise<void> {
  const pid = (await podman.must("inspect", NAME, "--format", "{{.State.Pid}}")).trim();
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const line = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1];
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
    assert.match(line(set) ?? "", /^0+$/, set);
  }
  assert.equal(line("NoNewPrivs"), "1");
  assert.equal(line("Uid"), "65532\t65532\t65532\t65532");
  assert.equal(line("Gid"), "65532\t65532\t65532\t65532");
  const root = (await Deno.readTextFile(`/proc/${pid}/mountinfo`)).split("\n")
    .find((mount) => mount.split(" ")[4] === "/");
  assert.match(root ?? "", /^\S+ \S+ \S+ \S+ \/ ro[ ,]/);
  assert.notEqual((await podman.say("exec", NAME, "/bin/sh", "-c", "true")).code, 0, "a shell");
}

/**
 * Checks that the list names every package and library inside, and that the image contains the
 * list.
 */
async function listed(): Promise<void> {
  const beside = await Deno.readTextFile(`${folder}/${IMAGE}.sbom.json`);
  await podman.must("cp", `${NAME}:/usr/share/fleetctl/sbom.json`, `${folder}/inside.json`);
  assert.equal(await Deno.readTextFile(`${folder}/inside.json`), beside);
  const list = JSON.parse(beside) as {
    bomFormat: string;
    components: { type: string; name: string; version?: string; purl?: string }[];
  };
  assert.equal(list.bomFormat, "CycloneDX");
  const names = new Map(list.components.map((one) => [one.name, one]));
  assert.equal(names.get("deno")?.version, Deno.version.deno);
  const lock = await Deno.readTextFile(`${TREE}deno.lock`);
  const packages = list.components.filter(({ type }) => type === "library");
  assert.ok(packages.some(({ name }) => name === "ws"), "the list names no packages");
  for (const { name, version, purl } of packages) {
    assert.ok(lock.includes(`"${name}@${version}`), `${name}@${version} is not what is locked`);
    assert.equal(purl, `pkg:npm/${name}@${version}`);
  }
  await podman.must("export", "-o", `${folder}/all.tar`, NAME);
  const tar = new Deno.Command("tar", { args: ["-tf", `${folder}/all.tar`] });
  const files = new TextDecoder().decode((await tar.output()).stdout).split("\n");
  const libraries = files.filter((path) => /\.so(\.\d+)*$/.test(path)).map((path) => `/${path}`);
  assert.ok(libraries.length > 0);
  for (const path of libraries) assert.ok(names.has(path), `${path} is not in the list`);
}

Deno.test("the image runs confined, brings a message to its agent and its answer", async (t) => {
  await using served: ServedKit = await serveKit({ rules: { streamGapMs: 0 } });
  const { kit } = served;
  const key = await site(kit);
  try {
    await t.step("it is built, and its labels describe it", async () => {
      await podman.must("load", "-q", "-i", await build());
      const [image] = JSON.parse(await podman.must("inspect", `${IMAGE}:${VERSION}`)) as [{
        Config: { User: string; Labels: Record<string, string>; Env: string[] };
        HealthCheck?: unknown;
        Healthcheck?: unknown;
      }];
      const { Config: { User, Labels, Env } } = image;
      assert.equal(User, "65532:65532");
      assert.ok(Env.includes("TEAMS_LISTEN=0.0.0.0:3978"));
      assert.ok((image.HealthCheck ?? image.Healthcheck) !== undefined, "no health check");
      const label = (name: string) => Labels[`org.opencontainers.image.${name}`];
      assert.equal(label("title"), IMAGE);
      assert.equal(label("version"), VERSION);
      assert.equal(label("revision"), REVISION);
      assert.equal(label("created"), new Date(CREATED * 1000).toISOString());
    });
    await t.step("it starts without a capability, and its root cannot be written", async () => {
      await run();
      await confined();
    });
    await t.step("its list of packages is complete", listed);
    await t.step("it is healthy", async () => {
      assert.equal((await fetch(`${ORIGIN}/healthz`)).status, 200);
      const checked = await podman.say("healthcheck", "run", NAME);
      assert.equal(checked.code, 0, checked.stderr + checked.stdout);
    });
    await t.step("an activity without a token is refused", async () => {
      assert.equal(await post(kit, messageOf(kit), ""), 401);
      assert.equal(await post(kit, messageOf(kit), "Bearer x.y.z"), 401);
      assert.equal(kit.calls.length, 0);
    });
    await t.step("a message gets its answer", async () => {
      const agent = await register(key);
      assert.equal(await post(kit, messageOf(kit, { text: "hello" })), 202);
      await answered(kit, "hello", agent);
      agent.connection.terminate();
      await agent.closed;
    });
    await t.step("what it accepted outlives a kill", async () => {
      assert.equal(await post(kit, messageOf(kit, { text: "later" })), 202);
      await podman.must("kill", "-s", "KILL", NAME);
      await podman.must("wait", NAME);
      await podman.must("start", NAME);
      await ready(2);
      const agent = await register(key);
      await answered(kit, "later", agent);
      agent.connection.terminate();
      await agent.closed;
      assert.deepEqual(kit.violations(), []);
    });
    await t.step("it ends cleanly when podman stops it", async () => {
      await podman.must("stop", "-t", "20", NAME);
      const code = await podman.must("inspect", NAME, "--format", "{{.State.ExitCode}}");
      assert.equal(code.trim(), "0");
      assert.doesNotMatch((await podman.say("logs", NAME)).stderr, new RegExp(APP_SECRET));
    });
  } finally {
    await podman.say("rm", "-f", "-t", "1", NAME);
    await podman.say("unmount", "--all");
    await Deno.remove(folder, { recursive: true });
  }
});
