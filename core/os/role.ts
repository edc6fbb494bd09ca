/**
 * The common frame of every long-running program: reads only the variables that it declares, exits
 * with all faults of its settings, and serves until it is stopped. For composition roots. Each
 * program decides what it starts, and with which dependencies.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import {
  type Env,
  printSettingsCheck,
  printSettingsHelp,
  type SettingsTable,
} from "core/settings/settings.ts";

/** Returns the declared variables; reads nothing else from the environment. */
export function readEnv(table: SettingsTable): Env {
  return Object.fromEntries(
    Object.values(table).map(({ name }) => [name, Deno.env.get(name)]),
  );
}

/**
 * Returns the settings. When they are unusable, prints every fault and exits with code 2. With
 * `isCheck` (`--check-config`), prints "ok" or the faults and exits; starts nothing.
 */
export async function usableOrExit<T>(
  program: string,
  settings: Result<T>,
  isCheck = Deno.args[0] === "--check-config",
): Promise<T> {
  if (settings.ok && !isCheck) return settings.value;
  const text = printSettingsCheck(program, settings);
  await (settings.ok ? Deno.stdout : Deno.stderr).write(new TextEncoder().encode(text));
  Deno.exit(settings.ok ? 0 : 2);
}

/** Content of a program's `--help`. */
export interface ProgramHelp {
  /** Completes the sentence after the name: "routes the page and the agents". */
  readonly purpose: string;
  readonly settings: SettingsTable;
  /** Further arguments that the program accepts, each with its description. */
  readonly arguments?: Readonly<Record<string, string>>;
}

/**
 * Prints the help and exits when `--help` is among the arguments. Exits with code 2 at an unknown
 * argument, so that a typing error starts nothing.
 */
export async function helpOrRefuse(
  program: string,
  help: ProgramHelp,
  args: readonly string[] = Deno.args,
): Promise<void> {
  const known: Readonly<Record<string, string>> = {
    "--check-config": "print every fault of the settings, or ok, and end",
    "--help": "print this and end",
    ...help.arguments,
  };
  if (args.includes("--help")) {
    const lines = Object.entries(known).map(([name, what]) => `  ${name}  ${what}\n`);
    const text = `${program} ${help.purpose}. It reads its settings from the environment.\n\n` +
      `Arguments:\n${lines.join("")}\nSettings:\n\n${printSettingsHelp(help.settings)}`;
    await Deno.stdout.write(new TextEncoder().encode(text));
    Deno.exit(0);
  }
  const unknown = args.find((word) => known[word] === undefined);
  if (unknown === undefined) return;
  const text = `${program}: Cannot start: ${JSON.stringify(unknown)} is not an argument of it\n` +
    `hint: ${program} --help\n`;
  await Deno.stderr.write(new TextEncoder().encode(text));
  Deno.exit(2);
}

/** Returns the addresses of this host, as far as the permission set allows. */
export function ownAddresses(log: Log): readonly string[] {
  try {
    return Deno.networkInterfaces().map(({ address }) => address);
  } catch (thrown) {
    log.warning("own addresses are not known", { error: errorText(thrown) });
    return [];
  }
}

/**
 * Starts the program, serves until SIGTERM or SIGINT, calls the close function that `start`
 * returned, and exits. When it cannot serve, logs the reason and exits with code 1.
 */
export async function serveUntilStopped(
  log: Log,
  start: () => Promise<() => Promise<void>>,
): Promise<never> {
  try {
    const close = await start();
    const stop = Promise.withResolvers<void>();
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => stop.resolve());
    }
    await stop.promise;
    log.info("stopping");
    await close();
    Deno.exit(0);
  } catch (thrown) {
    log.error("cannot serve", { error: errorText(thrown) });
    Deno.exit(1);
  }
}
