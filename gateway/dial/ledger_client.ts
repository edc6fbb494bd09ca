/**
 * The gateway's way to the ledger: `agents key enroll` through the root daemon, which knows the
 * gateway by its user and lets it enroll first keys and nothing else
 * (docs/adr/0010-dial-keys-in-the-ledger.md).
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { ByteStream, Clock, Sockets } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import { connectDaemon, forward } from "core/verbs/daemon_client.ts";
import type { EnrollKey } from "gateway/dial/key_forwarder.ts";
import type { AgentKey } from "gateway/dial/keys.ts";

/** The verb waits for others that change the host; `up` holds them for a while at its start. */
const ANSWER_MS_MAX = 300_000;
/** Characters of the daemon's answer that are kept. */
const ANSWER_LENGTH_MAX = 64 * 1024;

/** Makes the client. */
export function ledgerClient(
  ports: { readonly sockets: Pick<Sockets, "connectUnix">; readonly clock: Clock },
  socket: string,
): EnrollKey {
  return {
    enroll: async (of, signal) => {
      let stream: ByteStream | undefined;
      try {
        stream = await connectDaemon(ports.sockets, socket);
      } catch (thrown) {
        return err(notEnrolled(of, errorText(thrown)));
      }
      return stream === undefined
        ? err(
          refusal(
            "daemon-not-running",
            `Cannot enroll a dial key of agent "${of.agent}": nobody answers on "${socket}", ` +
              "the daemon must be running",
            { hints: ["systemctl start fleetctl-daemon.service"] },
          ),
        )
        : await ask(stream, of, { clock: ports.clock, signal });
    },
  };
}

async function ask(
  stream: ByteStream,
  of: AgentKey,
  until: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Result<void>> {
  const hangUp = () => stream.close();
  const cancel = until.clock.after(ANSWER_MS_MAX, hangUp);
  until.signal.addEventListener("abort", hangUp);
  let said = "";
  const keep = async (text: string) => {
    said = (said + text).slice(0, ANSWER_LENGTH_MAX);
  };
  try {
    const argv = ["agents", "key", "enroll", "--first", "--json", "--", of.agent, of.key];
    const code = await forward(stream, { argv }, { out: keep, err: async () => {} });
    if (!code.ok) return code;
    return code.value === 0 ? ok(undefined) : err(notEnrolled(of, whyNot(said, code.value)));
  } finally {
    cancel();
    until.signal.removeEventListener("abort", hangUp);
  }
}

/** The sentence of the refusal that a verb printed as JSON. */
function whyNot(said: string, code: number): string {
  try {
    const { error } = JSON.parse(said) as { error?: { message?: unknown } };
    if (typeof error?.message === "string") return error.message;
  } catch {
    // The verb was cut short: its exit code is all there is.
  }
  return `the verb ended with ${code}`;
}

function notEnrolled(of: AgentKey, found: string): Refusal {
  return refusal(
    "dial-key-not-taken",
    `Cannot enroll a dial key of agent "${of.agent}": ${found}`,
    { hints: [`fleetctl agents key list ${of.agent}`] },
  );
}
