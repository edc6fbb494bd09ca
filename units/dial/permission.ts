/**
 * The dial unit's answer to a runtime's ACP permission request: a command that reaches a blocked
 * tool is denied, and everything else that a runtime asks about is asked of a human, as an approval
 * like any other. The runtime asks before it acts, so its wish is what is decided about.
 *
 * @module
 */

import { DIRECT } from "core/call_origin.ts";
import type { Paths } from "core/paths.ts";
import type { Files, Log } from "core/ports.ts";
import { sha256 } from "core/risk/call.ts";
import { ruledCommand } from "core/risk/command.ts";
import { readGates } from "core/risk/gate_file.ts";
import type { PermissionAsk, PermissionDecider } from "core/runtimes/drivers/acp_permission.ts";
import type { Approvals } from "units/dial/approvals.ts";

/** Where permission requests are answered; closed until the approvals are open. */
export interface PermissionDesk {
  readonly decide: PermissionDecider;
  open(approvals: Approvals): void;
}

/** What the policy of a runtime's own tools is: ask about whatever it asks about. */
const RUNTIME_POLICY = "fleetctl.runtime-permission.1";

/** Makes the desk of one agent. */
export function createPermissionDesk(parts: {
  readonly runtime: string;
  readonly paths: Paths;
  readonly files: Pick<Files, "readText" | "stat" | "list">;
  readonly log: Log;
}): PermissionDesk {
  const { runtime, paths, files, log } = parts;
  let approvals: Approvals | undefined;
  return {
    open: (opened) => {
      approvals = opened;
    },
    decide: async (asked) => {
      const command = commandOf(asked);
      const ruled = command === undefined
        ? undefined
        : ruledCommand(await readGates(files, paths), command);
      if (ruled?.decision === "block") {
        log.info("permission denied", { tool: asked.tool, rule: ruled.tool });
        return "deny";
      }
      if (approvals === undefined) return "deny";
      return await askAbout(asked, runtime, approvals);
    },
  };
}

async function askAbout(
  asked: PermissionAsk,
  runtime: string,
  approvals: Approvals,
): Promise<"allow" | "deny"> {
  const { tool, title } = asked;
  const given = argumentsOf(asked.arguments);
  const question = await approvals.ask({
    ...{ mcp: "", version: runtime, tool, origin: DIRECT },
    arguments: Object.keys(given).length === 0 && title !== "" ? { title } : given,
  }, { policy: await sha256(RUNTIME_POLICY), isDestructive: true });
  if (!question.ok) return "deny";
  const { approval, outcome, delivered, use, withdraw } = question.value;
  try {
    const found = await outcome;
    if (!delivered().ok || found.kind !== "approved") return "deny";
    return use(approval.digest).ok ? "allow" : "deny";
  } finally {
    withdraw();
  }
}

function argumentsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return value === undefined ? {} : { value };
  return Array.isArray(value) ? { value } : value as Readonly<Record<string, unknown>>;
}

/** The command of a request about a shell, in the spellings that runtimes use. */
function commandOf({ arguments: given, title }: PermissionAsk): string | undefined {
  const { command, cmd } = argumentsOf(given);
  const found = command ?? cmd;
  if (typeof found === "string") return found;
  return Array.isArray(found) ? found.join(" ") : title === "" ? undefined : title;
}
