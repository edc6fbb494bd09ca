/**
 * Where the file of each verb is: path = verb, so `fleetctl mcp add` is `cli/mcp/add.ts`. Each file
 * is loaded when its verb runs, so that help stays fast. A test holds this list equal to the rows
 * of the verb table that are built.
 *
 * @module
 */

import type { Command } from "cli/context.ts";

/** Loads the file of a verb. */
// deno-lint-ignore no-explicit-any -- each file knows its own options; run.ts passes them through.
export type LoadCommand = () => Promise<Command<any>>;

/** Verb name → its file. */
export const COMMANDS: Readonly<Record<string, LoadCommand>> = {
  "access explain": () => import("cli/access/explain.ts"),
  "agents add": () => import("cli/agents/add.ts"),
  "agents key enroll": () => import("cli/agents/key/enroll.ts"),
  "agents key list": () => import("cli/agents/key/list.ts"),
  "agents key revoke": () => import("cli/agents/key/revoke.ts"),
  "agents list": () => import("cli/agents/list.ts"),
  "agents model set": () => import("cli/agents/model/set.ts"),
  "agents model show": () => import("cli/agents/model/show.ts"),
  "agents remove": () => import("cli/agents/remove.ts"),
  "agents restart": () => import("cli/agents/restart.ts"),
  "agents set": () => import("cli/agents/set.ts"),
  "agents show": () => import("cli/agents/show.ts"),
  "agents start": () => import("cli/agents/start.ts"),
  "agents stop": () => import("cli/agents/stop.ts"),
  "apply": () => import("cli/apply.ts"),
  "audit list": () => import("cli/audit/list.ts"),
  "approvals approve": () => import("cli/approvals/approve.ts"),
  "approvals deny": () => import("cli/approvals/deny.ts"),
  "approvals list": () => import("cli/approvals/list.ts"),
  "approvals show": () => import("cli/approvals/show.ts"),
  "completion": () => import("cli/completion.ts"),
  "defaults add tools": () => import("cli/defaults/add/tools.ts"),
  "defaults list tools": () => import("cli/defaults/list/tools.ts"),
  "defaults remove tools": () => import("cli/defaults/remove/tools.ts"),
  "doctor": () => import("cli/doctor.ts"),
  "gc": () => import("cli/gc.ts"),
  "help": () => import("cli/help_verb.ts"),
  "host key enroll": () => import("cli/host/key/enroll.ts"),
  "host key list": () => import("cli/host/key/list.ts"),
  "host key revoke": () => import("cli/host/key/revoke.ts"),
  "host list": () => import("cli/host/list.ts"),
  "host set": () => import("cli/host/set.ts"),
  "host unset": () => import("cli/host/unset.ts"),
  "ledger log": () => import("cli/ledger/log.ts"),
  "ledger revert": () => import("cli/ledger/revert.ts"),
  "logs": () => import("cli/logs.ts"),
  "mcp add": () => import("cli/mcp/add.ts"),
  "mcp call": () => import("cli/mcp/call.ts"),
  "mcp catalog add": () => import("cli/mcp/catalog/add.ts"),
  "mcp catalog browse": () => import("cli/mcp/catalog/browse.ts"),
  "mcp catalog import": () => import("cli/mcp/catalog/import.ts"),
  "mcp catalog list": () => import("cli/mcp/catalog/list.ts"),
  "mcp catalog remove": () => import("cli/mcp/catalog/remove.ts"),
  "mcp catalog review": () => import("cli/mcp/catalog/review.ts"),
  "mcp catalog rollback": () => import("cli/mcp/catalog/rollback.ts"),
  "mcp catalog upgrade": () => import("cli/mcp/catalog/upgrade.ts"),
  "mcp doctor": () => import("cli/mcp/doctor.ts"),
  "mcp read": () => import("cli/mcp/read.ts"),
  "mcp remove": () => import("cli/mcp/remove.ts"),
  "mcp wired": () => import("cli/mcp/wired.ts"),
  "secret get": () => import("cli/secret/get.ts"),
  "secret list": () => import("cli/secret/list.ts"),
  "secret recover": () => import("cli/secret/recover.ts"),
  "secret recovery add": () => import("cli/secret/recovery/add.ts"),
  "secret rewrap": () => import("cli/secret/rewrap.ts"),
  "secret rotate": () => import("cli/secret/rotate.ts"),
  "secret set": () => import("cli/secret/set.ts"),
  "secret unset": () => import("cli/secret/unset.ts"),
  "status": () => import("cli/status.ts"),
  "up": () => import("cli/up.ts"),
  "teams-gateway doctor": () => import("cli/teams_gateway/doctor.ts"),
  "teams-gateway explain": () => import("cli/teams_gateway/explain.ts"),
  "teams-gateway install": () => import("cli/teams_gateway/install.ts"),
  "teams-gateway status": () => import("cli/teams_gateway/status.ts"),
  "webview-gateway install": () => import("cli/webview_gateway/install.ts"),
  "webview-gateway status": () => import("cli/webview_gateway/status.ts"),
  "webview-login install": () => import("cli/webview_login/install.ts"),
  "webview-login pins clear": () => import("cli/webview_login/pins/clear.ts"),
  "webview-login pins list": () => import("cli/webview_login/pins/list.ts"),
  "webview-login sessions end": () => import("cli/webview_login/sessions/end.ts"),
  "webview-login sessions list": () => import("cli/webview_login/sessions/list.ts"),
  "webview-login status": () => import("cli/webview_login/status.ts"),
};
