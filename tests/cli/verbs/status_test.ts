/**
 * `fleetctl status` and the gateway: whether it has a connection to each agent, and the report when
 * it has none.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startsEverything } from "tests/support/no_services.ts";
import { runFleetctl } from "tests/support/script.ts";

const BROWSER = `name: browser
summary: Stands in
source:
  builtin: agent-message
auth: none
scope: per_user
`;
const PUBLIC_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

interface Shown {
  readonly agents: readonly { readonly name: string; readonly gateway: string }[];
  readonly problems: readonly {
    readonly code: string;
    readonly message: string;
    readonly hints: readonly string[];
  }[];
}

/**
 * A root with agents ada (owned) and bea (without an owner), and a gateway that replies with
 * `answer`.
 */
async function withGateway(
  answer: (request: Request) => Response,
  check: (
    status: () => Promise<Shown & { readonly text: string }>,
    root: string,
    stop: (unit: string) => Promise<void>,
  ) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  const services = startsEverything();
  const http = {
    fetch: async (input: string | URL | Request, init?: RequestInit) =>
      answer(new Request(input, init)),
  };
  const ports = { services, http };
  const run = async (...argv: string[]) => await runFleetctl(argv, { root, ports });
  try {
    const folder = `${root}/var/lib/fleetctl/repo/catalog/browser`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${folder}/mcp.yaml`, BROWSER);
    await Deno.mkdir(`${root}/etc/fleetctl`, { recursive: true });
    await Deno.writeTextFile(`${root}/etc/fleetctl/roles.yaml`, "gateway: {}\n");
    const own = ["--user-email", "ada@example.org"];
    assert.equal((await run("agents", "add", "ada", "--channel", "webview", ...own)).code, 0);
    assert.equal((await run("agents", "add", "bea", "--channel", "webview")).code, 0);
    await services().restart("fleetctl-dial-ada.service");
    await services().restart("fleetctl-dial-bea.service");
    await check(
      async () => {
        const { stdout } = await run("status", "--json");
        return { ...JSON.parse(stdout) as Shown, text: (await run("status")).stdout };
      },
      root,
      services().stop,
    );
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const cards = (isOnline: boolean, storage?: unknown) =>
  Response.json({ agents: [{ agent: "ada", is_online: isOnline, storage }] });
const about = ({ problems }: Shown) =>
  problems.filter((one) => one.code.startsWith("agent-") || one.code.startsWith("gateway-"));

Deno.test("status asks the gateway as the owner, and says connected", async () => {
  const seen: Request[] = [];
  const answer = (request: Request) => {
    seen.push(request);
    return cards(true);
  };
  await withGateway(answer, async (status) => {
    const shown = await status();
    assert.deepEqual(shown.agents.map(({ name, gateway }) => [name, gateway]), [
      ["ada", "connected"],
      ["bea", "no owner"],
    ]);
    assert.deepEqual(about(shown), []);
    assert.match(shown.text, /ada .* starting +connected/);
    assert.equal(seen[0]?.url, "http://127.0.0.1:8731/api/agents");
    assert.equal(seen[0]?.headers.get("x-user-email"), "ada@example.org");
    assert.ok(seen[0]?.headers.has("x-fleetctl-assertion"));
  });
});

Deno.test("status reports an owned agent as a fault while it is not connected", async () => {
  await withGateway(() => cards(false), async (status, root) => {
    const shown = await status();
    assert.equal(shown.agents[0]?.gateway, "not connected");
    const [only] = about(shown);
    assert.equal(only?.code, "agent-not-connected");
    assert.match(only?.message ?? "", /^Agent "ada" is not connected to the gateway/);
    assert.match(only?.hints.join("\n") ?? "", /tail .*fleetctl-dial-ada\.service\.log/);
    assert.doesNotMatch(shown.text, /nothing is wrong/);

    // Every key was revoked: the report has the reason and the command that fixes it.
    const shard = `${root}/var/lib/fleetctl/repo/agents.d/ada.yaml`;
    await Deno.writeTextFile(shard, `${await Deno.readTextFile(shard)}dial_keys: []\n`);
    const [revoked] = about(await status());
    assert.match(revoked?.message ?? "", /its dial keys are all revoked, must have one/);
    await Deno.mkdir(`${root}/home/ada/.fleetctl/dial`, { recursive: true });
    await Deno.writeTextFile(
      `${root}/home/ada/.fleetctl/dial/key.json`,
      JSON.stringify({ kind: "ed25519", public: PUBLIC_KEY, pkcs8: "secret" }),
    );
    const [known] = about(await status());
    assert.equal(known?.hints[0], `fleetctl agents key enroll ada ${PUBLIC_KEY}`);
    assert.doesNotMatch(JSON.stringify(known), /secret/);
  });
});

Deno.test("status says that the gateway denies the owner of an agent", async () => {
  const denied = () =>
    Response.json({ detail: "nobody is signed in", code: "viewer-denied" }, { status: 403 });
  await withGateway(denied, async (status) => {
    const [only] = about(await status());
    assert.equal(only?.code, "agent-not-connected");
    assert.match(only?.message ?? "", /the gateway denies "ada@example.org" \(viewer-denied\)/);
  });
});

Deno.test("status says unknown when the gateway does not answer", async () => {
  const broken = () => {
    throw new TypeError("connection refused");
  };
  for (const answer of [broken, () => new Response("<html>", { status: 200 })]) {
    await withGateway(answer, async (status, _root, stop) => {
      const shown = await status();
      assert.equal(shown.agents[0]?.gateway, "unknown");
      assert.deepEqual(about(shown).map((one) => one.code), ["gateway-not-asked"]);
      await stop("fleetctl-gateway.service");
      const down = (await status()).problems.map((one) => one.code);
      assert.ok(down.includes("role-down") && !down.includes("gateway-not-asked"), down.join());
    });
  }
});

Deno.test("status says unknown when another host runs the gateway", async () => {
  await withGateway(() => cards(true), async (status, root) => {
    await Deno.writeTextFile(`${root}/etc/fleetctl/roles.yaml`, "daemon: true\n");
    const shown = await status();
    assert.equal(shown.agents[0]?.gateway, "unknown");
    assert.deepEqual(about(shown), []);
  });
});

Deno.test("status reports a share of the gateway's disk before and when it is full", async () => {
  const DAY_MS = 86_400_000;
  const MIB = 1024 * 1024;
  const rows = [
    { mib: 79, days: 40, code: undefined, message: /^$/, span: undefined },
    {
      mib: 80,
      days: 40,
      code: "agent-storage-filling",
      message: /^Agent "ada" has 80 % of the 100 MiB/,
      span: "20d",
    },
    { mib: 99.9, days: 1.5, code: "agent-storage-filling", message: /has 99 % of/, span: "18h" },
    { mib: 100, days: 3, code: "agent-storage-full", message: /all of the 100 MiB/, span: "1d" },
    { mib: 101, days: 0.01, code: "agent-storage-full", message: /nothing more/, span: undefined },
  ];
  let storage: unknown;
  await withGateway(() => cards(true, storage), async (status) => {
    for (const { mib, days, code, message, span } of rows) {
      const oldest = Date.now() - days * DAY_MS - 1000;
      storage = { bytes: Math.round(mib * MIB), bytes_max: 100 * MIB, oldest };
      const [only, ...others] = about(await status());
      assert.deepEqual([only?.code, others.length], [code, 0]);
      if (code === undefined) continue;
      assert.match(only?.message ?? "", message);
      const verb = `fleetctl gc --events ${span}`;
      assert.deepEqual(only?.hints, span === undefined ? [] : [`${verb} --dry-run`, verb]);
    }
    for (const value of [undefined, null, "full", { bytes: 5 }, { bytes: 5, bytes_max: 0 }]) {
      storage = value;
      assert.deepEqual(about(await status()), []);
    }
  });
});

Deno.test("status queries all agents in one request, as root of the host", async () => {
  const seen: Request[] = [];
  const answer = (request: Request) => {
    seen.push(request);
    return Response.json({
      agents: [
        { agent: "ada", user_email: "ada@example.org", is_online: true },
        { agent: "cy", user_email: "other@example.org", is_online: true },
      ],
    });
  };
  await withGateway(answer, async (status, root) => {
    for (const name of ["cy", "dan"]) {
      const shard = `name: ${name}\nchannel: webview\nuser_email: ${name}@example.org\n`;
      const path = `${root}/var/lib/fleetctl/repo/agents.d/${name}.yaml`;
      await Deno.writeTextFile(path, `${shard}runtime: runtime-b\nrun_on: atlas\n`);
    }
    const shown = await status();
    assert.deepEqual(shown.agents.map(({ name, gateway }) => `${name}: ${gateway}`), [
      "ada: connected",
      "bea: no owner",
      "cy: not connected",
      "dan: not connected",
    ]);
    assert.equal(seen[0]?.url, "http://127.0.0.1:8731/api/connections");
    assert.equal(seen[0]?.headers.get("x-user-email"), null);
    // One request for `--json`, one for the text output.
    assert.equal(seen.length, 2);
  });
});

Deno.test("status queries as each owner if the gateway has no route for hosts", async () => {
  const paths: string[] = [];
  const answer = (request: Request) => {
    const { pathname } = new URL(request.url);
    paths.push(pathname);
    const agent = request.headers.get("x-user-email")?.split("@")[0];
    return pathname === "/api/agents"
      ? Response.json({ agents: [{ agent, is_online: true }] })
      : Response.json({ code: "route-unknown" }, { status: 404 });
  };
  await withGateway(answer, async (status, root) => {
    const shard = "name: cy\nchannel: webview\nuser_email: cy@example.org\nruntime: runtime-b\n";
    await Deno.writeTextFile(`${root}/var/lib/fleetctl/repo/agents.d/cy.yaml`, shard);
    const shown = await status();
    assert.deepEqual(shown.agents.map(({ gateway }) => gateway), [
      "connected",
      "no owner",
      "connected",
    ]);
    assert.deepEqual(paths.slice(0, 3), ["/api/connections", "/api/agents", "/api/agents"]);
  });
});
