/**
 * Composition root of `fleetctl`. Help and the version are a separate program (`cli/help/main.ts`,
 * chosen by the launcher). Code that only some verbs need is loaded on demand.
 *
 * @module
 */

import { VERSION } from "core/version.ts";

Deno.exit(await runVerbs(Deno.args));

async function runVerbs(argv: readonly string[]): Promise<number> {
  const [{ runCli }, { openTerminal }, { splitArguments }] = await Promise.all([
    import("cli/run.ts"),
    import("cli/os/terminal.ts"),
    import("core/os/argv.ts"),
  ]);
  // Contains only the variables that the permission set names.
  const env = Deno.env.toObject();
  const terminal = openTerminal(env.NO_COLOR);
  return await runCli(argv, {
    version: VERSION,
    env,
    cwd: Deno.cwd(),
    terminal,
    tokenize: splitArguments,
    takeOverStop,
    openPorts: async () => (await import("cli/os/verb_ports.ts")).openVerbPorts("fleetctl"),
    out: terminal.out,
    err: terminal.err,
    readStdin: terminal.readStdin,
    openStdin: () => Deno.stdin.readable,
    promptSecret: terminal.promptSecret,
    promptLine: terminal.promptLine,
  });
}

function takeOverStop(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, () => stop.abort(signal));
  }
  return stop.signal;
}
