/**
 * A daemon for tests of the page. It keeps the model of each agent and checks keys like `agents
 * model set`. The page and the gateway are real.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { VerbCall, VerbRunner } from "gateway/daemon_verbs.ts";

/** The one key that is accepted. */
export const GOOD_KEY = "sk-0123456789abcdefghijWXYZ";

/** A daemon that supports only models. */
export interface ScriptedModels extends VerbRunner {
  readonly calls: readonly VerbCall[];
  /** Holds back later answers until the returned function is called. */
  hold(): () => void;
}

/** Creates the daemon with the demo model for every agent. */
export function scriptedModels(): ScriptedModels {
  const calls: VerbCall[] = [];
  const cards = new Map<string, Record<string, unknown>>();
  let gate = Promise.resolve();
  const demo = {
    provider: "demo",
    model: null,
    base_url: null,
    key: "not-set",
    key_ends_with: null,
  };
  return {
    calls,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    run: async (call): Promise<Result<unknown>> => {
      calls.push(call);
      await gate;
      const agent = call.argv.at(-1) ?? "";
      if (call.argv[2] === "show") return ok({ agent, ...demo, ...cards.get(agent) });
      const option = (name: string) =>
        call.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? null;
      const provider = call.argv[call.argv.indexOf("--provider") + 1];
      if (provider === "demo") cards.set(agent, demo);
      else {
        const isTried = !call.argv.includes("--no-check");
        if (option("base-url")?.includes("nowhere") === true && isTried) return err(unreachable());
        if (option("model") === "unknown") return err(unknownModel());
        if (call.stdin !== GOOD_KEY && isTried) return err(badKey());
        const key = { key: "set", key_ends_with: "WXYZ" };
        cards.set(agent, {
          provider,
          model: option("model"),
          base_url: option("base-url"),
          ...(call.stdin === undefined ? { key: "not-set", key_ends_with: null } : key),
        });
      }
      return ok({ agent, ...cards.get(agent), changed: true, restarted: true });
    },
  };
}

function badKey() {
  return refusal("model-unauthorized", "Cannot connect the model: no (status 401)", {
    details: ["key: is not accepted"],
  });
}

function unknownModel() {
  return refusal("model-not-found", "Cannot connect the model: no such model", {
    details: ["model: is none of the endpoint's: big-1, big-2"],
  });
}

function unreachable() {
  return refusal("model-unreachable", "Cannot connect the model: it does not answer", {
    details: ["base_url: does not answer"],
  });
}
