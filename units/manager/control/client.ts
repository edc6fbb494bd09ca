/**
 * Client of the embedded service manager, for other programs under the same root. It opens one
 * connection to the control socket per call. A call ends with the manager's answer, or with a
 * `ServiceFault` when the manager disconnects.
 *
 * @module
 */

import { readLines } from "core/text/lines.ts";
import { eachUnit } from "units/manager/each_unit.ts";
import type { Sockets } from "core/ports/sockets.ts";
import { ServiceFault, type ServiceManager } from "units/manager/service_manager.ts";
import type { Paths } from "core/paths.ts";
import {
  CONTROL_LIMITS,
  type ControlRequest,
  parseAnswer,
} from "units/manager/control/control_frames.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Units to stop at the same time. A program may take seconds to end; the others need not wait. */
const STOPS_AT_ONCE = 8;
const LINES = { lineBytesMax: CONTROL_LIMITS.answerBytesMax, mustEnd: true };

/** Returns the port to the manager of the `fleetctl up` that runs under this root. */
export function embeddedServices(
  paths: Paths,
  sockets: Pick<Sockets, "connectUnix">,
): ServiceManager {
  const ask = (request: ControlRequest) => askManager(paths.managerSocket, sockets, request);
  const act =
    (verb: "start" | "stop" | "restart" | "enable" | "disable") => async (unit: string) => {
      await ask({ verb, unit });
    };
  return {
    name: "embedded",
    async isRunning() {
      try {
        await ask({ verb: "status", units: [] });
        return true;
      } catch {
        // The socket is absent, no process serves it, or this user may not connect: no manager.
        return false;
      }
    },
    async reload() {
      await ask({ verb: "reload" });
    },
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    each: (verb, units) => eachUnit(units, act(verb), verb === "stop" ? STOPS_AT_ONCE : 1),
    async status(units) {
      return await ask({ verb: "status", units }) as readonly UnitStatus[];
    },
    async journal(unit, lines) {
      return await ask({ verb: "journal", unit, lines }) as readonly string[];
    },
  };
}

async function askManager(
  path: string,
  sockets: Pick<Sockets, "connectUnix">,
  request: ControlRequest,
): Promise<unknown> {
  const unit = "unit" in request ? request.unit : "";
  const what = `Cannot ${request.verb} ${unit === "" ? "units" : JSON.stringify(unit)}`;
  const gone = () => new ServiceFault(unit, `${what}: the service manager disconnected`);
  let stream: Awaited<ReturnType<Sockets["connectUnix"]>>;
  try {
    stream = await sockets.connectUnix(path);
  } catch {
    throw new ServiceFault(unit, `${what}: no service manager answers on ${JSON.stringify(path)}`);
  }
  try {
    const writer = stream.writable.getWriter();
    await writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    for await (const line of readLines(stream.readable, LINES)) {
      const answer = parseAnswer(line);
      if (answer === undefined) throw new ServiceFault(unit, `${what}: the answer is unreadable`);
      if (answer.ok) return answer.value;
      throw new ServiceFault(answer.unit || unit, answer.message, answer.journal);
    }
    throw gone();
  } catch (thrown) {
    if (thrown instanceof ServiceFault) throw thrown;
    throw gone();
  } finally {
    stream.close();
  }
}
