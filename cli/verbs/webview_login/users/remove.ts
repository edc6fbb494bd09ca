/**
 * `fleetctl webview-login users remove <email>`: removes the login of a person with every session.
 * The person's agent stays.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, followLedger, hostInputs, planReport, underVerbLock } from "cli/planner.ts";
import { readAccounts, writeAccounts } from "cli/webview_login/accounts.ts";
import { type AddressOption, parseAddress } from "cli/webview_login/store.ts";
import { refusal } from "core/errors.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Parses the address. */
export function parseOptions(invocation: Invocation): Result<AddressOption> {
  return parseAddress(invocation);
}

/** Removes the entry and reconciles the host. */
export async function run(
  context: VerbContext,
  { email = "" }: AddressOption,
): Promise<Result<VerbReport>> {
  const author = authorOf(context, "webview-login users remove");
  return await underVerbLock(context, async () => {
    const store = await ensureState(context.ports, hostInputs(context), author);
    if (!store.ok) return store;
    const before = readAccounts(store.value);
    if (!before.ok) return before;
    const rest = before.value.filter(({ name }) => name !== email);
    if (rest.length === before.value.length) {
      return ok(
        linesReport({ address: email, removed: false }, [`unchanged  ${email} has no login`]),
      );
    }
    const allowed = rest.length > 0 ? ok(undefined) : await checkLast(context, email);
    if (!allowed.ok) return allowed;
    const written = await writeAccounts(store.value, rest, author);
    if (!written.ok) return written;
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    return ok(planReport(followed.value.report, followed.value.gathered, {
      json: { address: email, removed: true },
      last: [`${email} has no login and no sessions`],
    }));
  });
}

/** Refuses to remove the last user, because the login proxy could not start again. */
async function checkLast({ ports, paths }: VerbContext, email: string): Promise<Result<void>> {
  const roles = parseHostRoles(await ports.files.readText(paths.rolesFile), paths.rolesFile);
  if (!roles.ok) return roles;
  if (roles.value.login?.driver !== "basic") return ok(undefined);
  return err(refusal(
    "login-last-user",
    `Cannot remove the login of "${email}": it is the only one, must leave one`,
    { hints: ["fleetctl webview-login users list"] },
  ));
}
