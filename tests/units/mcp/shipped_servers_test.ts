/**
 * The two shipped npm servers, vendored for real and started with their units' command lines,
 * behind the real proxy program. Offline: packages come from the prepared cache.
 *
 * @module
 */
import assert from "node:assert/strict";
import { readCatalog } from "core/catalog/catalog.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { vendorEntry } from "core/catalog/vendor.ts";
import type { AgentName, McpName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { denoTrees } from "core/os/vendor.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { McpEndpoint } from "core/ports/mcp_client.ts";
import { linkVendorCache } from "tests/support/prepare_vendor.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import { expandPlaceholders, serverCommand } from "units/render/mcp/command.ts";
import { renderGate } from "units/render/mcp/gate.ts";

const TREE = new URL("../../..", import.meta.url).pathname.replace(/\/$/, "");
const AGENT = "ada" as AgentName;

interface Bench extends AsyncDisposable {
  readonly paths: Paths;
  readonly workdir: string;
  readonly at: McpEndpoint;
  /** Returns what the servers printed on stderr. */
  errors(): string;
}

/** Vendors an entry and listens on its socket like a service manager. */
async function bench(mcp: string, searchPath = "/usr/local/bin:/usr/bin:/bin"): Promise<Bench> {
  const root = await Deno.makeTempDir();
  const paths = pathsUnder(root);
  const host = openHost({ log: { program: "test", level: "error" } });
  await linkVendorCache(root);
  const catalog = await readCatalog(host, paths);
  const manifest = catalog.ok ? catalog.value.entries.get(mcp as McpName) : undefined;
  assert.ok(manifest !== undefined);
  // Simulate a missing network with an address where no service listens.
  const env = { PATH: searchPath, NPM_CONFIG_REGISTRY: Deno.env.get("NPM_CONFIG_REGISTRY") ?? "" };
  const vendored = await vendorEntry(manifest, { ...host, trees: denoTrees() }, paths, {
    deno: Deno.execPath(),
    env: env.NPM_CONFIG_REGISTRY === "" ? { PATH: searchPath } : env,
  });
  assert.ok(vendored.ok, JSON.stringify(vendored));
  assert.equal(vendored.value.treeHash, manifest.treeIntegrity);
  const shape = { kind: "tree", dir: TREE, denoDir: Deno.env.get("DENO_DIR") ?? "" } as const;
  for (const file of [...renderLaunchers(shape, paths), renderGate(manifest, paths)]) {
    await Deno.mkdir(file.path.replace(/\/[^/]+$/, ""), { recursive: true });
    await Deno.writeTextFile(file.path, file.content, { mode: file.mode });
  }
  await Deno.symlink(Deno.execPath(), paths.deno);
  const workdir = `${root}/workspace`;
  await Deno.mkdir(paths.home(AGENT), { recursive: true });
  await Deno.mkdir(workdir);
  const socket = `${root}/s.sock`;
  const services = serve(socket, () => startServer(manifest, { paths, workdir, searchPath }));
  return {
    paths,
    workdir,
    errors: services.errors,
    at: {
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
        "proxy",
        mcp,
        "--socket",
        socket,
      ],
      env: { FLEETCTL_ROOT: root, DENO_DIR: Deno.env.get("DENO_DIR") ?? `${TREE}/.cache/deno` },
    },
    async [Symbol.asyncDispose]() {
      await services.close();
      await Deno.remove(root, { recursive: true });
    },
  };
}

function startServer(
  manifest: Manifest,
  place: { readonly paths: Paths; readonly workdir: string; readonly searchPath: string },
): Deno.ChildProcess {
  const site = { ...place, agent: AGENT, closed: [] };
  // The first two words check the tree before each start. Units have them; vendoring has its own
  // tests.
  const [command, ...args] = serverCommand(manifest, site).slice(2);
  const fixed = Object.entries(manifest.environment).map(([name, value]) => [
    name,
    expandPlaceholders(value, manifest, site),
  ]);
  return new Deno.Command(command ?? "", {
    args,
    cwd: place.paths.home(AGENT),
    clearEnv: true,
    env: {
      PATH: place.searchPath,
      HOME: place.paths.home(AGENT),
      CANARY_TOKEN: "canary",
      ...Object.fromEntries(fixed),
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Serves like Accept=yes: one server per connection. */
function serve(socket: string, start: () => Deno.ChildProcess) {
  const listener = Deno.listen({ transport: "unix", path: socket });
  const running: Promise<unknown>[] = [];
  let errors = "";
  const accepting = (async () => {
    for await (const conn of listener) {
      const child = start();
      const ignore = () => {/* the other end was faster */};
      running.push(
        child.status,
        conn.readable.pipeTo(child.stdin).catch(ignore),
        child.stdout.pipeTo(conn.writable).catch(ignore),
        new Response(child.stderr).text().then((text) => errors += text),
      );
    }
  })();
  return {
    errors: () => errors,
    async close() {
      listener.close();
      await accepting;
      await Promise.all(running);
    },
  };
}

async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const { stdout, success } = await new Deno.Command("git", {
    args: ["-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args],
    stderr: "null",
  }).output();
  assert.ok(success);
  return new TextDecoder().decode(stdout).trim();
}

function client() {
  const host = openHost({ log: { program: "test", level: "error" } });
  return systemMcpClient(host);
}

Deno.test("the git server reads a repository, and the gate rules its other tools", async () => {
  await using b = await bench("git");
  await git(b.workdir, "init", "-q");
  await git(b.workdir, "commit", "-q", "--allow-empty", "-m", "First light");
  const hash = await git(b.workdir, "rev-parse", "HEAD");

  const listed = await client().listTools("git", b.at);
  assert.ok(listed.ok, JSON.stringify(listed));
  const names = listed.value.map((tool) => tool.name);
  assert.ok(names.includes("git_log") && names.includes("git_commit"));
  assert.equal(names.includes("git_clean"), false, "a blocked tool is not shown");

  const log = await client().callTool("git", b.at, {
    tool: "git_log",
    arguments: { path: b.workdir },
  });
  assert.ok(log.ok && !log.value.isError, JSON.stringify(log));
  assert.ok(log.value.text.includes(hash) && log.value.text.includes("First light"));

  for (
    const [tool, code] of [["git_commit", "approval-unavailable"], ["git_clean", "tool-blocked"]]
  ) {
    const refused = await client().callTool("git", b.at, {
      tool: tool ?? "",
      arguments: { path: b.workdir, message: "x" },
    });
    assert.ok(refused.ok && refused.value.isError);
    assert.deepEqual(refused.value.result["_meta"], { fleetctl: { denied: true, code } });
  }
  assert.equal(await git(b.workdir, "rev-list", "--count", "HEAD"), "1");
});

Deno.test("the git server reaches no repository outside its folders", async () => {
  await using b = await bench("git");
  const other = await Deno.makeTempDir();
  await git(other, "init", "-q");
  await git(other, "commit", "-q", "--allow-empty", "-m", "Not yours");
  const log = await client().callTool("git", b.at, { tool: "git_log", arguments: { path: other } });
  await Deno.remove(other, { recursive: true });
  assert.ok(log.ok && log.value.isError, JSON.stringify(log));
  assert.match(log.value.text, /read access|not a|denied|does not exist/i);
});

Deno.test("every tool of the git server has a mark, and only readers run freely", async () => {
  await using b = await bench("git");
  const host = openHost({ log: { program: "test", level: "error" } });
  const catalog = await readCatalog(host, b.paths);
  const manifest = catalog.ok ? catalog.value.entries.get("git" as McpName) : undefined;
  const listed = await client().listTools("git", b.at);
  assert.ok(listed.ok && manifest !== undefined);
  const free = listed.value.map((tool) => tool.name).filter((name) => !manifest.risk.has(name));
  assert.deepEqual(free.sort(), [
    "git_blame",
    "git_changelog_analyze",
    "git_clear_working_dir",
    "git_diff",
    "git_log",
    "git_reflog",
    "git_show",
    "git_status",
    "git_wrapup_instructions",
  ]);
});

Deno.test("the browser server lists its tools, except the one that runs code", async () => {
  await using b = await bench("browser");
  const listed = await client().listTools("browser", b.at);
  assert.ok(listed.ok, JSON.stringify(listed) + b.errors());
  const names = listed.value.map((tool) => tool.name);
  assert.ok(names.includes("browser_navigate") && names.includes("browser_snapshot"));
  assert.equal(names.includes("browser_run_code_unsafe"), false);
});

Deno.test("the browser server says what to install when there is no Chromium", async () => {
  const tools = await Deno.makeTempDir();
  for (const name of ["sh", "id", "awk", "mkdir", "env"]) {
    await Deno.symlink(`/usr/bin/${name}`, `${tools}/${name}`);
  }
  await using b = await bench("browser", tools);
  const answer = await client().callTool("browser", b.at, {
    tool: "browser_navigate",
    arguments: { url: "about:blank" },
  });
  await Deno.remove(tools, { recursive: true });
  assert.ok(answer.ok && answer.value.isError, JSON.stringify(answer));
  assert.match(answer.value.text, /Chromium is not installed on this host/);
  assert.match(answer.value.text, /apt-get install -y chromium/);
});

Deno.test("the browser server opens a page", async () => {
  const host = openHost({ log: { program: "test", level: "error" } });
  const chromium = await host.processes.which("chromium", "chromium-browser");
  assert.ok(chromium !== undefined, "the preparation step installs Chromium");
  const page = "<title>A page</title><h1>Good evening</h1>";
  const web = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(page, { headers: { "content-type": "text/html" } }),
  );
  {
    await using b = await bench("browser");
    const answer = await client().callTool("browser", b.at, {
      tool: "browser_navigate",
      arguments: { url: `http://127.0.0.1:${web.addr.port}/` },
    });
    assert.ok(answer.ok && !answer.value.isError, JSON.stringify(answer) + b.errors());
    assert.match(answer.value.text, /Page Title: A page/);
  }
  await web.shutdown();
});
