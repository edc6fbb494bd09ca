/**
 * The checks of `fleetctl mcp doctor`, in the order of an MCP's startup: catalog → lock → review →
 * key → programs → unit → socket → handshake → tools, then whether the agent's runtime has read its
 * config.
 *
 * Each check queries one thing and changes nothing. The first failure ends the run, because later
 * checks would only repeat it.
 *
 * @module
 */

import { quoteShell } from "core/text/quote.ts";
import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { checkCredentials } from "cli/mcp/credentials.ts";
import { probeHttp } from "cli/mcp/doctor/http_probe.ts";
import { checkPrograms } from "cli/mcp/doctor/programs_check.ts";
import { checkListed, checkReview } from "cli/mcp/doctor/review_check.ts";
import { socketPlace } from "cli/mcp/call_endpoint.ts";
import { serverLogTail } from "cli/mcp/server_log_tail.ts";
import { notLoaded, wiredMcps } from "cli/verbs/mcp/wired.ts";
import { reconcileFacts } from "cli/planner.ts";
import { unixUserOf } from "cli/unix_user.ts";
import { findEntry } from "core/catalog/catalog.ts";
import { endpointOf, fillEndpoint } from "core/catalog/endpoint.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { checkTree, needsVendoring } from "core/catalog/vendor.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { McpTool } from "core/ports/mcp_client.ts";
import type { KeyName, McpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { decideTool } from "core/risk/decide.ts";
import { gateOf } from "core/risk/rules.ts";
import { resolveKey } from "core/secrets/resolve.ts";
import { type HomeFiles, ownHomeFiles } from "units/reconcile/home_files.ts";
import { openHomeHelper } from "units/reconcile/home_helper.ts";
import { scopeOfMcp } from "units/reconcile/scope.ts";
import { mcpSocketPath } from "units/render/mcp/socket.ts";
import { mcpSocketUnit } from "units/render/unit_name.ts";

/** The input of the checks. */
export interface CheckTarget {
  readonly context: VerbContext;
  readonly gathered: Gathered;
  readonly agent: AgentRecord;
  readonly mcp: McpName;
}

/** One check; returns a sentence on success. */
export interface Check {
  readonly step: string;
  check(target: CheckTarget): Promise<Result<string>>;
}

/** Number of lines of a socket's log that are shown with its failure. */
const SOCKET_LINES = 10;
/** Time limit for checks in the home. */
const HOME_MS_MAX = 5_000;
/** Number of tool names that are printed. */
const TOOLS_SHOWN = 8;

/** Returns all checks. `listed` passes the handshake's tools to the next check. */
export function checksFor(): readonly Check[] {
  let listed: readonly McpTool[] = [];
  return [
    { step: "catalog", check: checkCatalog },
    { step: "lock", check: checkLock },
    { step: "review", check: checkWaiting },
    { step: "key", check: checkKeys },
    {
      step: "programs",
      check: async (target) => {
        const manifest = manifestOf(target);
        if (!manifest.ok) return manifest;
        return await checkPrograms(manifest.value, target.context.ports.processes);
      },
    },
    { step: "unit", check: checkUnits },
    { step: "socket", check: checkSocket },
    {
      step: "handshake",
      check: async (target) => {
        const answer = await shakeHands(target);
        if (!answer.ok) return answer;
        listed = answer.value.tools;
        return ok(answer.value.text);
      },
    },
    { step: "tools", check: async (target) => checkTools(target, listed) },
    { step: "agent", check: checkAgent },
  ];
}

function manifestOf({ gathered, mcp }: CheckTarget): Result<Manifest> {
  const broken = gathered.catalog.faults.find((fault) => fault.name === mcp);
  return broken === undefined ? findEntry(gathered.catalog, mcp) : err(broken.refusal);
}

async function checkCatalog(target: CheckTarget): Promise<Result<string>> {
  const manifest = manifestOf(target);
  if (!manifest.ok) return manifest;
  const { source, origin, sharing } = manifest.value;
  const pin = "version" in source ? `${source.kind} ${source.version}` : source.kind;
  return ok(`${pin}, ${origin}, ${sharing}`);
}

async function checkLock(target: CheckTarget): Promise<Result<string>> {
  const manifest = manifestOf(target);
  if (!manifest.ok) return manifest;
  const { name, source, transport } = manifest.value;
  if (transport === "http") return ok("no package: it is reached by URL");
  if (!needsVendoring(manifest.value)) return ok("no package: it is part of fleetctl");
  const tree = await checkTree(name, target.context.ports, target.context.paths);
  if (!tree.ok) {
    // An MCP without an agent is not installed, and apply does not install it.
    if (!isWired(target)) return err(notWired(target));
    return err({ ...tree.error, hints: [applyHint(target)] });
  }
  const pinned = "version" in source ? source.version : tree.value.version;
  if (tree.value.version === pinned) {
    return ok(`${tree.value.files} files, tree ${tree.value.treeHash.slice(0, 19)}…`);
  }
  return err(refusal(
    "tree-outdated",
    `The installed tree is version ${tree.value.version}, must be ${pinned}`,
    { hints: [applyHint(target)] },
  ));
}

async function checkWaiting(target: CheckTarget): Promise<Result<string>> {
  const manifest = manifestOf(target);
  return manifest.ok ? checkReview(manifest.value) : manifest;
}

async function checkKeys(target: CheckTarget): Promise<Result<string>> {
  const { gathered: { secrets: { shards } }, agent } = target;
  const manifest = manifestOf(target);
  if (!manifest.ok) return manifest;
  const gate = checkCredentials(shards, agent.name, manifest.value);
  if (!gate.ok) {
    return err({ ...gate.error, message: gate.error.message.replace(/^Cannot add/, "Cannot use") });
  }
  const { requiredEnv, optionalEnv, oauth } = manifest.value;
  const found = [...requiredEnv, ...optionalEnv].flatMap((key) => {
    const resolved = resolveKey(shards, agent.name, key);
    return resolved === undefined ? [] : [`${key} (${resolved.from})`];
  });
  if (oauth !== undefined) return await checkLogin(target, oauth.provider);
  return ok(found.length === 0 ? "it needs none" : found.join(", "));
}

async function checkLogin(target: CheckTarget, provider: string): Promise<Result<string>> {
  const { context, agent } = target;
  const folder = `${context.paths.home(agent.name)}/.fleetctl/oauth/${provider}`;
  const isFilled = await inHome(target, async (home) => await home?.isFilled(folder) === true);
  if (!isFilled.ok) return isFilled;
  if (isFilled.value) return ok(`signed in to ${provider}`);
  return err(refusal(
    "needs-login",
    `Agent "${agent.name}" is not signed in to "${provider}", must sign in`,
    {
      details: ["this version has no sign-in yet: what is in that folder was put there by hand"],
      hints: [`ls -la ${quoteShell(folder)}`, `fleetctl mcp remove ${target.mcp} ${agent.name}`],
    },
  ));
}

/**
 * Runs a check with the rights of the home's owner, because a link in the home may lead anywhere.
 * Returns undefined if there is no account.
 */
async function inHome<T>(
  { context, gathered, agent }: CheckTarget,
  work: (home: HomeFiles | undefined) => Promise<T>,
): Promise<Result<T>> {
  const { ports, paths } = context;
  if (gathered.facts.rootless) return ok(await work(ownHomeFiles(ports.files)));
  const user = await unixUserOf(context, agent.name);
  if (!user.ok) return user;
  if (user.value === undefined) return ok(await work(undefined));
  const homes = openHomeHelper(ports, HOME_MS_MAX);
  try {
    return ok(await work(homes.of(user.value, paths.home(agent.name))));
  } finally {
    await homes.close();
  }
}

async function checkUnits(target: CheckTarget): Promise<Result<string>> {
  const { context, gathered, agent, mcp } = target;
  if (!isWired(target)) return err(notWired(target));
  const quiet = { ...context, progress: { step() {}, note() {}, clear() {} } };
  const report = await reconcileFacts(quiet, gathered, {
    dryRun: true,
    restartAgents: false,
    scope: scopeOfMcp(gathered.facts, agent.name, mcp),
  });
  if (!report.ok) return report;
  const [fault] = report.value.faults;
  if (fault !== undefined) return err(fault);
  const pending = [
    ...report.value.files.filter(({ change }) => change !== "unchanged")
      .map(({ path, change }) => `${path} would be ${change}`),
    ...report.value.units.map(({ unit, change }) => `${unit} would be ${change}`),
  ];
  if (pending.length > 0) {
    return err(refusal(
      "host-differs",
      `What agent "${agent.name}" has on disk differs from its ledger`,
      { details: pending.slice(0, 5), hints: [applyHint(target)] },
    ));
  }
  const manifest = manifestOf(target);
  if (!manifest.ok) return manifest;
  if (manifest.value.transport === "http") return ok("no unit: it is reached by URL");
  const unit = socketUnit(target, manifest.value);
  const services = context.ports.services(context.paths);
  if (!await services.isRunning()) {
    return err(refusal("manager-not-running", "No service manager runs on this root", {
      hints: [context.paths.root === "/" ? "systemctl status" : "fleetctl up"],
    }));
  }
  const [status] = await services.status([unit]);
  if (status?.active === "active") return ok(`${unit} is active`);
  return err(refusal("socket-down", `${unit} is ${status?.active ?? "unknown"}, must be active`, {
    details: await services.journal(unit, SOCKET_LINES).catch(() => []),
    hints: [applyHint(target), `fleetctl logs mcp:${mcp}`],
  }));
}

function isWired({ gathered, agent, mcp }: CheckTarget): boolean {
  return gathered.facts.wired.get(agent.name)?.includes(mcp) === true;
}

function notWired({ agent, mcp }: CheckTarget): Refusal {
  return refusal("mcp-not-wired", `Agent "${agent.name}" does not have MCP "${mcp}"`, {
    hints: [`fleetctl mcp add ${mcp} ${agent.name}`],
  });
}

function socketUnit({ agent }: CheckTarget, manifest: Manifest): string {
  return mcpSocketUnit(manifest.name, manifest.sharing === "shared" ? undefined : agent.name);
}

async function checkSocket(target: CheckTarget): Promise<Result<string>> {
  const manifest = manifestOf(target);
  if (!manifest.ok) return manifest;
  if (manifest.value.transport === "http") return ok("no socket: it is reached by URL");
  const isShared = manifest.value.sharing === "shared";
  const { ports, paths } = target.context;
  const path = mcpSocketPath(paths, manifest.value.name, isShared ? undefined : target.agent.name);
  const stat = await ports.files.stat(path);
  const wanted = isShared ? 0o660 : 0o600;
  const restart = [`systemctl restart ${socketUnit(target, manifest.value)}`];
  const hints = paths.root === "/" ? restart : [applyHint(target)];
  if (stat === undefined) {
    return err(refusal("socket-missing", `"${path}" does not exist, must be a socket`, { hints }));
  }
  if (stat.kind !== "other" || stat.mode !== wanted) {
    const found = stat.kind === "other"
      ? `has mode 0${stat.mode.toString(8)}`
      : `is a ${stat.kind}`;
    return err(refusal(
      "socket-altered",
      `"${path}" ${found}, must be a socket of mode 0${wanted.toString(8)}`,
      { hints },
    ));
  }
  return ok(`${path}, mode 0${wanted.toString(8)}`);
}

interface Handshake {
  readonly tools: readonly McpTool[];
  readonly text: string;
}

async function shakeHands(target: CheckTarget): Promise<Result<Handshake>> {
  const manifest = manifestOf(target);
  if (!manifest.ok) return manifest;
  const { context, gathered, agent, mcp } = target;
  const template = endpointOf(manifest.value);
  if (template !== undefined) {
    const endpoint = fillEndpoint(
      mcp,
      template,
      (key) => resolveKey(gathered.secrets.shards, agent.name, key as KeyName)?.value,
    );
    if (!endpoint.ok) return endpoint;
    // The status of one request tells more about a key than a failed handshake.
    const probed = await probeHttp(context.ports, manifest.value, endpoint.value);
    if (!probed.ok) return probed;
    const client = await context.ports.openMcpClient();
    const tools = await client.listTools(mcp, { http: endpoint.value });
    return tools.ok ? ok({ tools: tools.value, text: probed.value }) : tools;
  }
  const owner = manifest.value.sharing === "shared" ? undefined : agent.name;
  const socket = mcpSocketPath(context.paths, mcp, owner);
  const client = await context.ports.openMcpClient();
  const began = context.ports.clock.monotonic();
  const tools = await client.listTools(
    mcp,
    socketPlace(context, mcp, { socket, agent: agent.name }),
  );
  const took = Math.round(context.ports.clock.monotonic() - began);
  if (tools.ok) return ok({ tools: tools.value, text: `started and answered in ${took} ms` });
  return err({
    ...tools.error,
    details: [
      ...tools.error.details,
      ...await serverLogTail(context, manifest.value, agent.name),
    ],
    hints: [`fleetctl logs mcp:${mcp}`],
  });
}

async function checkTools(
  target: CheckTarget,
  tools: readonly McpTool[],
): Promise<Result<string>> {
  const manifest = manifestOf(target);
  if (!manifest.ok) return manifest;
  if (tools.length === 0) {
    return err(refusal("no-tools", `MCP "${target.mcp}" offers no tool, must offer one`, {
      hints: [`fleetctl logs mcp:${target.mcp}`],
    }));
  }
  const compared = await checkListed(manifest.value, target.agent.name, tools);
  if (!compared.ok) return compared;
  const { rules } = gateOf(manifest.value);
  const count = (risk: string) =>
    tools.filter(({ name }) => decideTool(rules, name) === risk).length;
  const names = tools.slice(0, TOOLS_SHOWN).map(({ name }) => name).join(", ");
  const more = tools.length > TOOLS_SHOWN ? ", …" : "";
  return ok(
    `${tools.length} (${names}${more}); ${count("block")} refused, ${
      count("ask")
    } ask first; ${compared.value}`,
  );
}

async function checkAgent(target: CheckTarget): Promise<Result<string>> {
  const { context, gathered, agent, mcp } = target;
  const mcps = await wiredMcps(context, gathered, agent);
  const found = mcps.find((one) => one.name === mcp);
  if (found?.state === "live") return ok("live: the agent has loaded its config");
  if (found?.load !== undefined) {
    return err(notLoaded(found, { agent: agent.name, paths: context.paths }));
  }
  return err(refusal(
    "restart-pending",
    `MCP "${mcp}" is ${
      found?.state ?? "unknown"
    }: agent "${agent.name}" has not loaded its config yet`,
    { hints: [`fleetctl agents restart ${agent.name}`] },
  ));
}

function applyHint({ context }: CheckTarget): string {
  return context.caller.kind === "agent" ? "fleetctl apply self" : "fleetctl apply";
}
