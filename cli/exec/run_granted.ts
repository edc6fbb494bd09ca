/**
 * Handles the envelope on the stdin of `fleetctl-exec`: checks the grant, marks it as used, and
 * runs the verb in this process. It does not trust the envelope before the grant is checked. It
 * also authorizes again, so the daemon's decision is not the only check.
 *
 * @module
 */

import type { CliDeps } from "cli/context.ts";
import { refusalOfFault } from "cli/exit.ts";
import { UNDER_DAEMON } from "cli/planner.ts";
import { printRefusal, runVerb } from "cli/run.ts";
import { defined } from "core/defined.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Database } from "core/ports/databases.ts";
import { err, ok, type Result } from "core/result.ts";
import { authorize } from "core/verbs/authorize.ts";
import { type ExecEnvelope, parseEnvelope } from "core/verbs/exec_envelope.ts";
import { badGrant, checkGrant, GRANT_SECONDS } from "core/verbs/grant.ts";
import { readGrantKey } from "core/verbs/grant_key.ts";
import { NO_TERMINAL } from "core/verbs/daemon_frames.ts";
import { parseRequest } from "core/verbs/invocation.ts";
import { type Addressed, addressFor } from "core/verbs/target.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** An envelope contains a request of at most 1 MiB, JSON-escaped once more. */
const ENVELOPE_BYTES_MAX = 4 * 1024 * 1024;

/** Reads the envelope, runs its verb, prints the report and returns the exit code. */
export async function runGranted(deps: CliDeps): Promise<number> {
  let wantsJson = false;
  try {
    const ports = await deps.openPorts();
    const paths = pathsUnder(deps.env.FLEETCTL_ROOT ?? "/");
    const envelope = await readEnvelope(deps, ports, paths);
    if (!envelope.ok) return await printRefusal(envelope.error, wantsJson, deps);
    const { request, caller } = envelope.value;
    wantsJson = request.argv.includes("--json");
    const addressed = authorizeRequest(envelope.value, deps);
    if (!addressed.ok) return await printRefusal(addressed.error, wantsJson, deps);
    const tree = request.tty?.tree;
    return await runVerb(addressed.value, { caller, paths, ports }, {
      ...deps,
      env: {
        ...deps.env,
        // Tells the verb not to restart the daemon, because that would end the verb.
        [UNDER_DAEMON]: "1",
        // Used only for the hints printed to the client.
        ...defined({ FLEETCTL_FROM_TREE: tree }),
      },
      terminal: request.tty ?? NO_TERMINAL,
      secretValue: request.stdin,
    });
  } catch (thrown) {
    return await printRefusal(refusalOfFault(thrown, "run a verb as root"), wantsJson, deps);
  }
}

async function readEnvelope(
  deps: CliDeps,
  ports: VerbPorts,
  paths: Paths,
): Promise<Result<ExecEnvelope>> {
  const text = await deps.readStdin(ENVELOPE_BYTES_MAX);
  if (!text.ok) return text;
  const envelope = parseEnvelope(text.value);
  if (!envelope.ok) return envelope;
  const key = await readGrantKey(ports.files, paths, ports.users.currentUid());
  if (!key.ok) return key;
  const now = ports.clock.now();
  const checked = await checkGrant(key.value, envelope.value, envelope.value.grant, now);
  if (!checked.ok) return checked;
  const state = paths.role("daemon");
  await ports.files.ensureDir(state, { mode: 0o700 });
  const used = await ports.databases.open(`${state}/grants.sqlite`);
  try {
    const first = useOnce(used, envelope.value.grant.nonce, now);
    return first.ok ? envelope : first;
  } finally {
    used.close();
  }
}

/** Marks a nonce as used. Refuses a second use within the lifetime of a grant. */
function useOnce(database: Database, nonce: string, now: number): Result<void> {
  database.exec(
    "CREATE TABLE IF NOT EXISTS used (nonce TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT",
  );
  database.prepare("DELETE FROM used WHERE at_ms < ?").run(now - 2 * GRANT_SECONDS * 1000);
  const { changes } = database.prepare("INSERT OR IGNORE INTO used VALUES (?, ?)").run(nonce, now);
  return changes === 1 ? ok(undefined) : err(badGrant("it was used before"));
}

function authorizeRequest({ request, caller }: ExecEnvelope, deps: CliDeps): Result<Addressed> {
  const parsed = parseRequest(request.argv, deps.tokenize);
  if (!parsed.ok) return parsed;
  if (parsed.value.kind !== "run") return err(badGrant("it names no verb"));
  const addressed = addressFor(parsed.value.invocation, caller);
  if (!addressed.ok) return addressed;
  const decision = authorize(caller, addressed.value);
  return decision.allowed === true ? addressed : err(decision.refusal);
}
