/**
 * `fleetctl-mcp`: `proxy <mcp> --socket <path>`, `serve <builtin>`, `check <mcp>`. The composition
 * root of the MCP programs. It starts once per agent start and MCP, so each mode loads only what it
 * needs: the proxy loads no SDK.
 *
 * @module
 */

import type { BuiltinServer } from "core/catalog/manifest_source.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { denoFiles } from "core/os/files.ts";
import { stderrLog } from "core/os/log.ts";
import { systemClock } from "core/os/clock.ts";
import { connectWire, stdioWire } from "units/mcp/os/wires.ts";
import { pathsUnder } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Wire, wireOf } from "units/mcp/wire.ts";
import { parseProgramArguments, type ProgramCommand, USAGE } from "units/mcp/arguments.ts";
import type { ProxyPorts } from "units/mcp/proxy_ports.ts";

async function main(): Promise<number> {
  const command = parseProgramArguments(Deno.args);
  if (!command.ok) {
    console.error(`fleetctl-mcp: ${command.error.message}`);
    console.error(USAGE);
    return 2;
  }
  return await run(command.value);
}

async function run(command: ProgramCommand): Promise<number> {
  switch (command.kind) {
    case "help":
      console.log(USAGE);
      return 0;
    case "check-config":
      console.log("ok");
      return 0;
    case "proxy":
      return await proxy(command, {
        openServer: connectWire,
        checkServer: () => checkServer(command.mcp),
      });
    case "proxy-url":
      return await proxy({ mcp: command.mcp, socket: "" }, {
        openServer: () => connectUrl(command.mcp),
      });
    case "serve":
      return await serve(command.server);
    case "check":
      return await check(command.mcp);
  }
}

function root(): string {
  return Deno.env.get("FLEETCTL_ROOT") ?? "/";
}

async function proxy(
  target: { readonly mcp: string; readonly socket: string },
  server: Pick<ProxyPorts, "openServer" | "checkServer">,
): Promise<number> {
  const { runProxy } = await import("units/mcp/proxy.ts");
  const { createGateReader } = await import("core/risk/gate_file.ts");
  const { createPresence } = await import("units/mcp/presence.ts");
  const log = stderrLog({ program: "fleetctl-mcp" });
  const dialSocket = `${Deno.env.get("HOME") ?? ""}/.fleetctl/dial/local.sock`;
  const { mcp } = target;
  const presence = createPresence({ mcp, socket: dialSocket, log, connect: connectUnix });
  await runProxy({ ...target, agent: Deno.env.get("FLEETCTL_AGENT") ?? "" }, {
    client: stdioWire(),
    clock: systemClock(),
    log,
    gate: createGateReader(
      ...[denoFiles(), pathsUnder(root()).gate(target.mcp), target.mcp] as const,
      systemClock(),
    ),
    dialSocket,
    ...server,
    connect: connectUnix,
    onListed: presence.listed,
  });
  await presence.close();
  return 0;
}

/** Loads the SDK, which other proxies do not need. */
async function connectUrl(mcp: string): Promise<Wire> {
  const { openMcpHttp } = await import("core/os/mcp_http.ts");
  const { systemHttp } = await import("core/os/http.ts");
  const { readOwnEndpoint } = await import("units/mcp/own_endpoint.ts");
  const paths = pathsUnder(root());
  const agent = Deno.env.get("FLEETCTL_AGENT") ?? "";
  const endpoint = await readOwnEndpoint(denoFiles(), paths, { mcp, agent });
  if (!endpoint.ok) {
    throw new Error(endpoint.error.message.replace(/^Cannot reach MCP [^:]*: /, ""));
  }
  return wireOf(openMcpHttp(endpoint.value, { http: systemHttp(), clock: systemClock() }));
}

async function serve(server: BuiltinServer): Promise<number> {
  const { serveBuiltin } = await import("units/mcp/builtin/serve.ts");
  const { systemRandom } = await import("core/os/random.ts");
  const home = Deno.env.get("HOME") ?? "/";
  serveBuiltin(server, `${home}/.fleetctl/dial/local.sock`, {
    clock: systemClock(),
    log: stderrLog({ program: "fleetctl-mcp" }),
    random: systemRandom(),
    connect: connectUnix,
  });
  // The SDK's transport keeps the process alive until the client closes the stream.
  return 0;
}

/** Checks the current files of a server; a builtin server has none. */
async function checkServer(mcp: string): Promise<Result<void>> {
  const { checkTree, treePath } = await import("core/catalog/vendor.ts");
  const { denoTrees } = await import("core/os/vendor.ts");
  const paths = pathsUnder(root());
  const files = denoFiles();
  if (await files.stat(treePath(paths, mcp)) === undefined) return ok(undefined);
  const checked = await checkTree(mcp, { files, trees: denoTrees() }, paths);
  return checked.ok ? ok(undefined) : err({ ...checked.error, hints: ["fleetctl apply self"] });
}

/** Whether a server may start: its files are the installed ones, and no review of it is pending. */
async function check(mcp: string): Promise<number> {
  const { createGateReader } = await import("core/risk/gate_file.ts");
  const { mcpHeld, isMcpHeld } = await import("core/risk/decide.ts");
  const { checkTree } = await import("core/catalog/vendor.ts");
  const { denoTrees } = await import("core/os/vendor.ts");
  const paths = pathsUnder(root());
  const files = denoFiles();
  const gate = await createGateReader(files, paths.gate(mcp), mcp).current();
  const checked = gate.ok && isMcpHeld(gate.value)
    ? err(mcpHeld(mcp, `Cannot start MCP ${JSON.stringify(mcp)}`))
    : await checkTree(mcp, { files, trees: denoTrees() }, paths);
  if (checked.ok) return 0;
  console.error(`fleetctl-mcp: ${checked.error.message}`);
  for (const hint of checked.error.hints) console.error(`hint: ${hint}`);
  return 1;
}

const code = await main();
if (code !== 0) Deno.exit(code);
