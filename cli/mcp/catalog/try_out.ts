/**
 * Trying out a vendored server: it is started once with made-up keys, in an empty home, with no
 * network where this host can cut it off, as nobody where this program is root; it lists its tools
 * and takes one call of a tool that only reads. What it asked for is in Deno's permission audit.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import {
  type Asked,
  beyond,
  harmless,
  joinGrants,
  readAudit,
  trialCall,
  withGrants,
} from "core/catalog/dry_start.ts";
import type { Grants } from "core/catalog/edit.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { treePath } from "core/catalog/vendor.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { McpTool } from "core/mcp_port.ts";
import type { AgentName } from "core/names.ts";
import type { ProcessSpec } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import { expandPlaceholders, serverCommand } from "units/render/mcp/command.ts";

/** What a try showed. */
export interface Tried {
  /** Undefined when it could not be brought to list them. */
  readonly tools: readonly McpTool[] | undefined;
  readonly asked: Asked;
  /** Why it lists nothing. */
  readonly fault?: Refusal;
}

/** Rounds in which harmless permissions are added until the server starts. */
const ROUNDS_MAX = 12;
const NOBODY = 65534;
const CALL_MS_MAX = 20_000;
const HOUSE = "nobody" as AgentName;

/** Tries out the server of a tree that is not in use yet. */
export async function tryOut(
  context: VerbContext,
  manifest: Manifest,
  tree: string,
): Promise<Tried> {
  const { files } = context.ports;
  const home = `${context.paths.deploy(manifest.name)}/.stage-${context.ports.random.uuid()}`;
  const confined = await confinement(context);
  if (!confined.ok) {
    return { tools: undefined, asked: readAudit("", { home, tree }), fault: confined.error };
  }
  const confine = confined.value;
  const owner = confine.length === 0 ? {} : { uid: NOBODY, gid: NOBODY };
  try {
    await files.ensureDir(home, { mode: 0o700, ...owner });
    let grants: Grants = {};
    let asked = readAudit("", { home, tree });
    for (let round = 0;; round++) {
      const audit = `${home}/.audit-${round}`;
      const program = programOf(context, withGrants(manifest, grants), {
        tree,
        home,
        audit,
        confine,
      });
      const found = await listAndCall(context, manifest, program);
      const now = readAudit(await files.readText(audit) ?? "", { home, tree });
      asked = joinAsked(asked, now);
      if ("tools" in found) return { tools: found.tools, asked };
      const more = beyond(
        joinGrants(harmless(asked.permissions)),
        joinGrants(manifest.permissions, grants),
      );
      if (Object.keys(more).length === 0 || round === ROUNDS_MAX) {
        return { tools: undefined, asked, fault: found.fault };
      }
      grants = joinGrants(grants, more);
    }
  } finally {
    await files.remove(home, { recursive: true });
  }
}

function joinAsked(a: Asked, b: Asked): Asked {
  const union = (x: readonly string[], y: readonly string[]) => [...new Set([...x, ...y])].sort();
  return {
    permissions: joinGrants(a.permissions, b.permissions),
    refused: union(a.refused, b.refused),
    keys: union(a.keys, b.keys),
  };
}

async function listAndCall(
  context: VerbContext,
  manifest: Manifest,
  program: ProcessSpec,
): Promise<{ readonly tools: readonly McpTool[] } | { readonly fault: Refusal }> {
  const client = await context.ports.openMcpClient();
  const listed = await client.listTools(manifest.name, program);
  if (!listed.ok) return { fault: listed.error };
  const call = trialCall(listed.value);
  if (call !== undefined) {
    // It fails without a real key and a network: what it reached for is in the audit.
    await client.callTool(manifest.name, program, { ...call, timeoutMs: CALL_MS_MAX });
  }
  return { tools: listed.value };
}

interface TryPlace {
  readonly tree: string;
  readonly home: string;
  readonly audit: string;
  readonly confine: readonly string[];
}

function programOf(context: VerbContext, manifest: Manifest, at: TryPlace): ProcessSpec {
  const { paths } = context;
  const inUse = treePath(paths, manifest.name);
  const place = {
    paths: { ...paths, home: () => at.home },
    agent: HOUSE,
    workdir: at.home,
  };
  // The first two words check the tree in use; this one was hashed a moment ago.
  const words = serverCommand(manifest, place).slice(2)
    .map((word) => word.replaceAll(`${inUse}/`, `${at.tree}/`));
  const [command = "", ...args] = [...at.confine, ...words];
  const fixed = Object.entries(manifest.environment)
    .map(([name, value]) => [name, expandPlaceholders(value, manifest, place)] as const);
  const keys = [...manifest.requiredEnv, ...manifest.userEnv].map((key) => [key, "made-up"]);
  return {
    command,
    args,
    cwd: at.home,
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: at.home,
      DENO_DIR: `${at.home}/.deno`,
      DENO_NO_UPDATE_CHECK: "1",
      DENO_AUDIT_PERMISSIONS: at.audit,
      NO_COLOR: "1",
      ...Object.fromEntries(fixed),
      ...Object.fromEntries(keys),
    },
  };
}

/**
 * The words before a server's own that take rights and network from it; none without root. As root
 * nothing is tried without them: it is a stranger's code.
 */
export async function confinement(
  context: Pick<VerbContext, "paths"> & {
    readonly ports: Pick<VerbContext["ports"], "users" | "processes">;
  },
): Promise<Result<readonly string[]>> {
  const { ports, paths } = context;
  // Under another root the owner of the root is the operator, and folders above it are closed.
  if (ports.users.currentUid() !== 0 || paths.root !== "/") return ok([]);
  const unshare = await ports.processes.which("unshare");
  const setpriv = await ports.processes.which("setpriv");
  if (unshare === undefined || setpriv === undefined) {
    const missing = unshare === undefined ? "unshare" : "setpriv";
    return err(refusal(
      "try-unconfined",
      `Cannot try out the server: ${missing} is not on this host, must be there to take the ` +
        `rights of root and the network from it`,
      { hints: ["apt-get install util-linux"] },
    ));
  }
  return ok([
    ...[unshare, "--net", "--"],
    ...[setpriv, "--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups"],
    ...["--no-new-privs", "--"],
  ]);
}
