/**
 * The login proxy's store as the operator's verbs see it: opened beside the running proxy, which
 * notices a change within a quarter of a second. A host that never ran the proxy has none.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusalOfFault } from "cli/exit.ts";
import { type LoginStore, openLoginStore } from "core/login/store.ts";
import { parseEmail } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** An address that a verb was given; undefined where it may be left out. */
export interface AddressOption {
  readonly email: string | undefined;
}

/** Parses the address of a verb. */
export function parseAddress({ args }: Invocation): Result<AddressOption> {
  if (args.email === undefined) return ok({ email: undefined });
  const email = parseEmail(args.email);
  return email.ok ? ok({ email: email.value }) : email;
}

/** Runs `work` on the store; `undefined` stands for a store that is not there. */
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

/** Prints a time as people and programs read it. */
export function printTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");
}
