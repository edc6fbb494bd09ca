/**
 * Names the command that renews a program's credential in the reason of a turn that failed because
 * the model endpoint refused that credential.
 *
 * @module
 */

import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";

/** Adds `command` to the reasons of such turns; without one, returns the driver unchanged. */
export function withSignIn(driver: RuntimeDriver, command: string | undefined): RuntimeDriver {
  if (command === undefined) return driver;
  return {
    ...driver,
    async start(...args) {
      const session = await driver.start(...args);
      return {
        ...session,
        async prompt(turn, onUpdate) {
          const outcome = await session.prompt(turn, onUpdate);
          if (outcome.code !== "model-unauthorized") return outcome;
          return {
            ...outcome,
            reason: `${outcome.reason ?? "The sign-in failed"}; run: ${command}`,
          };
        },
      };
    },
  };
}
