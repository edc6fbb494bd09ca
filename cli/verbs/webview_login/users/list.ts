/**
 * `fleetctl webview-login users list`: the people who log in with a password, the agent that each
 * one reaches, and how the password is stored. Never prints a password or a hash.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readFacts } from "cli/planner.ts";
import { readAccounts } from "cli/webview_login/accounts.ts";
import { isHashed } from "core/login/password.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The verb has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Lists the users. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const accounts = readAccounts(gathered.value.secrets);
  if (!accounts.ok) return accounts;
  const agents = [...gathered.value.ledger.agents.values()];
  const users = accounts.value.map(({ name, stored }) => ({
    address: name,
    agent: agents.find((one) => one.userEmail === name)?.name ?? null,
    password: isHashed(stored) ? "hashed" : "in plain text",
  }));
  return ok({
    json: { users },
    blocks: [{
      kind: "table",
      columns: ["address", "agent", "password"],
      rows: users.map(({ address, agent, password }): readonly Cell[] => [
        address,
        agent ?? "",
        { text: password, tone: password === "hashed" ? "good" : "bad" },
      ]),
      empty: "No one signs in with a password: fleetctl webview-login users set you@example.org",
    }],
  });
}
