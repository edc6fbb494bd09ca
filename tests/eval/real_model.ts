/**
 * The real model of an evaluation, from `--model provider/model` and the environment. No I/O.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RealModel } from "tests/eval/run_task.ts";

/** Host and variable of the key of each provider; undefined where `FLEETCTL_BASE_URL` names it. */
const PROVIDERS: Readonly<Record<string, { readonly host?: string; readonly key: string }>> = {
  anthropic: { host: "api.anthropic.com", key: "ANTHROPIC_API_KEY" },
  openai: { host: "api.openai.com", key: "OPENAI_API_KEY" },
  "openai-compatible": { key: "FLEETCTL_MODEL_KEY" },
};

/** Returns the model, or the refusal that names what is missing. */
export function realModel(
  name: string,
  env: Readonly<Record<string, string>>,
): Result<RealModel> {
  const [, providerName = "", model = ""] = /^([^/]*)\/(.+)$/.exec(name) ?? [];
  const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
  if (provider === undefined) {
    const names = Object.keys(PROVIDERS).join(", ");
    return err(unusable(name, `it must be <provider>/<model> with one of ${names}`));
  }
  const base = env.FLEETCTL_BASE_URL;
  const host = base === undefined || !URL.canParse(base) ? provider.host : new URL(base).host;
  if (host === undefined) {
    return err(unusable(name, "FLEETCTL_BASE_URL is not set, must be the URL of its endpoint"));
  }
  const key = env[provider.key];
  if (key === undefined || key === "") {
    return err(unusable(name, `${provider.key} is not set, must be its key`));
  }
  return ok({
    host,
    env: {
      FLEETCTL_PROVIDER: providerName,
      FLEETCTL_MODEL: model,
      [provider.key]: key,
      ...defined({ FLEETCTL_BASE_URL: base }),
    },
  });
}

function unusable(name: string, why: string): Refusal {
  return refusal("model-unusable", `Cannot use the model ${JSON.stringify(name)}: ${why}`, {
    hints: ["./dev eval --model anthropic/<model>"],
  });
}
