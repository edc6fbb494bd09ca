/**
 * Composition root of `fleetctl-runtime`: an ACP agent over stdio, started by the dial unit. Stdout
 * is reserved for the protocol. Permission set `runtime` (docs/design.md).
 *
 * Usage: `fleetctl-runtime [--client-config <path>] [--check-config] [--help]`
 *
 * @module
 */

import { ndJsonStream } from "@agentclientprotocol/sdk";
import { errorText } from "core/errors.ts";
import { openHost } from "core/os/host.ts";
import { printSettingsCheck, printSettingsHelp } from "core/settings/settings.ts";
import { createRuntime } from "units/agent_loop/runtime.ts";
import { readRuntimeSettings, RUNTIME_SETTINGS } from "units/agent_loop/settings.ts";

const PROGRAM = "fleetctl-runtime";
/** Time limit for the runtime to end its turns and servers. */
const CLOSE_MS = 5_000;

const host = openHost({ log: { program: PROGRAM } });
const env = Deno.env.toObject();
// Libraries log to stdout, which is reserved for the protocol.
console.log = console.info = console.debug = console.error;
Object.assign(globalThis, {
  AI_SDK_LOG_WARNINGS: (logged: { readonly warnings: unknown }) =>
    host.log.debug("model warnings", { warnings: logged.warnings }),
});

if (Deno.args.includes("--help")) {
  await print(`${PROGRAM} speaks the Agent Client Protocol over stdio. Settings:\n\n`);
  await print(printSettingsHelp(RUNTIME_SETTINGS));
  Deno.exit(0);
}
if (Deno.args.includes("--check-config")) {
  const settings = readRuntimeSettings(env);
  await print(printSettingsCheck(PROGRAM, settings));
  Deno.exit(settings.ok ? 0 : 2);
}

const home = env.HOME ?? "/";
const clientConfig = optionOf(Deno.args, "--client-config");
try {
  const runtime = await createRuntime({
    env,
    home,
    tree: treeHere(),
    agent: env.FLEETCTL_AGENT ?? env.USER ?? "agent",
    clientConfig: clientConfig ?? `${home}/.runtime-b/agent/mcp.json`,
  }, host);
  const connection = runtime.agent.app.connect(
    ndJsonStream(Deno.stdout.writable, Deno.stdin.readable),
  );
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, () => connection.close(new Error(signal)));
  }
  await connection.closed;
  await Promise.race([runtime.close(), host.clock.sleep(CLOSE_MS)]);
  Deno.exit(0);
} catch (thrown) {
  host.log.error("cannot serve", { error: errorText(thrown) });
  Deno.exit(1);
}

/** Folder of the source tree that this program runs from; undefined for a built program. */
function treeHere(): string | undefined {
  return import.meta.filename?.match(/^(.+)\/units\/agent_loop\/main\.ts$/)?.[1];
}

async function print(text: string): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(text));
}

/** Returns the value of `--name value` or `--name=value`. */
function optionOf(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(name);
  if (at !== -1) return args[at + 1];
  return args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
}
