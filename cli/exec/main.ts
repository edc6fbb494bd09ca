/**
 * Composition root of `fleetctl-exec`, the only program that the daemon may run. It has no
 * arguments: request and grant arrive on stdin.
 *
 * @module
 */

import { envelopeInput } from "cli/exec/envelope_input.ts";
import { runGranted } from "cli/exec/run_granted.ts";
import { splitArguments } from "core/os/argv.ts";
import { openTerminal } from "cli/os/terminal.ts";
import { openVerbPorts } from "cli/os/verb_ports.ts";
import { VERSION } from "core/version.ts";

if (Deno.args.length > 0) {
  // Request and grant arrive on stdin; the daemon passes no argument.
  console.error("fleetctl-exec is started by fleetctld alone, and takes no arguments.");
  console.error("hint: fleetctl help");
  Deno.exit(Deno.args[0] === "--help" ? 0 : 2);
}

const terminal = openTerminal("1");
const code = await runGranted({
  version: VERSION,
  env: Deno.env.toObject(),
  cwd: "/",
  terminal,
  tokenize: splitArguments,
  takeOverStop,
  openPorts: async () => openVerbPorts("fleetctl-exec"),
  out: terminal.out,
  err: terminal.err,
  ...envelopeInput(Deno.stdin.readable),
  promptSecret: async () => undefined,
  promptLine: async () => undefined,
});
Deno.exit(code);

/** The daemon ends a verb whose client has disconnected. Children of the verb end with it. */
function takeOverStop(): AbortSignal {
  const stop = new AbortController();
  Deno.addSignalListener("SIGTERM", () => stop.abort());
  return stop.signal;
}
