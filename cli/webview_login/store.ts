/**
 * The login proxy's store for the operator's verbs. It is opened while the proxy runs; the proxy
 * notices a change within a quarter of a second. A host that never ran the proxy has no store.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusalOfFault } from "cli/exit.ts";
import { type LoginStore, openLoginStore } from "core/login/store.ts";
import { parseEmail } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The address given to a verb; undefined if it is optional and absent. */
export interface AddressOption {
  readonly email: string | undefined;
}

/** Parses the address of a verb. */
export function parseAddress({ args }: Invocation): Result<AddressOption> {
  if (args.email === undefined) return ok({ email: undefined });
  const email = parseEmail(args.email);
  return email.ok ? ok({ email: email.value }) : email;
}

/** Runs `work` on the store; `work` receives undefined if there is no store. */
export async function withStore<T>(
  { ports, paths }: VerbContext,
  work: (store: LoginStore | undefined) => Result<T>,
): Promise<Result<T>> {
  const path = `${paths.role("login")}/login.db`;
  try {
    if (await ports.files.stat(path) === undefined) return work(undefined);
    const store = await openLoginStore(ports.databases, path);
    try {
      return work(store);
    } finally {
      store.close();
    }
  } catch (thrown) {
    return err(refusalOfFault(thrown, "read the login proxy's store"));
  }
}

/** Formats a time for people and programs. */
export function printTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");
}
