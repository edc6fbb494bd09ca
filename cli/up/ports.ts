/**
 * Finds the ports of one `up` before anything starts. The wanted ports must be free; the refusal
 * names the process that uses one. Checks a port by listening on it for a moment.
 *
 * @module
 */

import { portsFrom, type UpOptions } from "cli/up/options.ts";
import type { UpPorts } from "cli/up/first_run.ts";
import { refusal } from "core/errors.ts";
import {
  AddressFault,
  type ListenAddress,
  type Listener,
  type Sockets,
} from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";

/** Returns the ports to use. Each was free just before. */
export async function findPorts(
  sockets: Pick<Sockets, "serveHttp">,
  options: Pick<UpOptions, "listen" | "portBase" | "isTeamchatHere">,
): Promise<Result<UpPorts>> {
  const isAny = options.portBase === 0;
  const wanted = isAny
    ? { cockpit: 0, dial: 0, login: 0, teamchat: 0 }
    : portsFrom(options.portBase);
  const held: Listener[] = [];
  const probe = async (at: ListenAddress): Promise<number> => {
    const listener = await sockets.serveHttp(at, () => new Response(null, { status: 503 }));
    held.push(listener);
    return listener.address.port;
  };
  try {
    const cockpit = await probe({ hostname: "127.0.0.1", port: wanted.cockpit });
    const dial = await probe({ hostname: options.listen, port: wanted.dial });
    const login = await probe({ hostname: options.listen, port: wanted.login });
    if (!options.isTeamchatHere) return ok({ cockpit, dial, login });
    const teamchat = await probe({ hostname: "127.0.0.1", port: wanted.teamchat });
    return ok({ cockpit, dial, login, teamchat });
  } catch (thrown) {
    if (!(thrown instanceof AddressFault)) throw thrown;
    return err(portRefusal(thrown, options.portBase));
  } finally {
    await Promise.all(held.map((listener) => listener.close(0)));
  }
}

function portRefusal(fault: AddressFault, portBase: number) {
  const at = `${fault.at.hostname}:${fault.at.port}`;
  const state = fault.reason === "in-use"
    ? `the port is taken by ${fault.holder ?? "a process of another user"}`
    : fault.reason === "not-permitted"
    ? "this user may not listen there"
    : "the address is not one of this machine";
  return refusal(`address-${fault.reason}`, `Cannot listen on ${at}: ${state}`, {
    hints: [
      fault.reason === "not-available"
        ? "fleetctl up --listen 127.0.0.1"
        : `fleetctl up --port-base ${
          portBase >= 60_000 || portBase === 0 ? 18_730 : portBase + 1000
        }`,
    ],
  });
}
