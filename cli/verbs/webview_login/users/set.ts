/**
 * `fleetctl webview-login users set <email>`: gives a person a login, or a new password. The
 * password comes from a prompt or stdin, or is generated and shown once. A new password ends all
 * sessions of that person.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, followLedger, hostInputs, planReport, underVerbLock } from "cli/planner.ts";
import {
  checkPassword,
  makePassword,
  passwordLine,
  readAccounts,
  setAccount,
} from "cli/webview_login/accounts.ts";
import { type Email, parseEmail } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The person, and whether to generate the password. */
export interface Options {
  readonly email: Email;
  readonly isGenerated: boolean;
}

/** Parses the arguments. */
export function parseOptions({ args, switches }: Invocation): Result<Options> {
  const email = parseEmail(args.email ?? "");
  return email.ok ? ok({ email: email.value, isGenerated: switches.has("generate") }) : email;
}

/** Stores the hash and reconciles the host. */
export async function run(
  context: VerbContext,
  { email, isGenerated }: Options,
): Promise<Result<VerbReport>> {
  const { random } = context.ports;
  const password = isGenerated ? makePassword(random) : context.secretValue ?? "";
  const usable = checkPassword(password);
  if (!usable.ok) return usable;
  const author = authorOf(context, "webview-login users set");
  return await underVerbLock(context, async () => {
    const store = await ensureState(context.ports, hostInputs(context), author);
    if (!store.ok) return store;
    const before = readAccounts(store.value);
    if (!before.ok) return before;
    const set = await setAccount(store.value, { name: email, password }, { random, author });
    if (!set.ok) return set;
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    const { gathered, report } = followed.value;
    const isNew = !before.value.some(({ name }) => name === email);
    const agent = [...gathered.ledger.agents.values()].find((one) => one.userEmail === email);
    return ok(planReport(report, gathered, {
      json: {
        address: email,
        agent: agent?.name ?? null,
        new: isNew,
        ...(isGenerated ? { password } : {}),
      },
      last: [
        isNew ? `${email} has a login` : `${email} has a new password, and no session`,
        agent === undefined
          ? `no agent belongs to this address: fleetctl agents add --help`
          : `reaches agent "${agent.name}"`,
        ...(isGenerated ? [passwordLine(email, password)] : []),
      ],
    }));
  });
}
