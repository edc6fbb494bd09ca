/**
 * `fleetctl teams-gateway doctor`: checks the gateway from the roles file to the platform:
 * settings, unit, agents and keys, clock, public front. Prints each problem with its remedy.
 * Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readTeamsState, type TeamsState } from "cli/teams_gateway/state.ts";
import { teamsProblems } from "cli/teams_gateway/problems.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { ok, type Result } from "core/result.ts";
import { knownCloud } from "core/teamchat/cloud.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The address of the public front, if it should be checked. */
export interface Options {
  readonly publicUrl: string | undefined;
}

/** Parses the option. Its value is checked when it is used. */
export function parseOptions({ options }: Invocation): Result<Options> {
  return ok({ publicUrl: options["public-url"] });
}

/** Runs the checks. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const state = await readTeamsState(context);
  if (!state.ok) return state;
  const problems = [
    ...teamsProblems(state.value, context.paths),
    ...await clockProblems(context, state.value),
    ...options.publicUrl === undefined ? [] : await frontProblems(context, options.publicUrl),
  ];
  const lines: Cell[] = problems.length === 0
    ? [{ text: "nothing is wrong with the team-chat gateway", tone: "good" }]
    : [];
  const last = state.value.health?.last_inbound_seconds;
  const inbound = typeof last === "number"
    ? `last message from the platform ${last} s ago`
    : "no message from the platform since the gateway started";
  return ok({
    json: {
      ok: problems.length === 0,
      health: state.value.health ?? null,
      problems: problems.map(({ code, message, hints }) => ({ code, message, hints })),
    },
    blocks: [{
      kind: "lines",
      lines: state.value.health === undefined ? lines : [...lines, inbound],
    }],
    faults: problems,
  });
}

const ASK_MS_MAX = 5_000;

/** Compares this machine's clock with the `Date` of the identity provider. */
async function clockProblems(
  { ports }: VerbContext,
  { gathered: { roles }, rendered }: TeamsState,
): Promise<readonly Refusal[]> {
  const cloud = knownCloud(roles.teamchat?.cloud ?? "");
  if (cloud === undefined || (rendered?.get("TEAMS_APP_ID") ?? "") === "") return [];
  const host = cloud.openidMetadata.host;
  try {
    const theirs = await withinTime(ports.clock, ASK_MS_MAX, async (signal) => {
      const response = await ports.http.fetch(cloud.openidMetadata, { signal, redirect: "error" });
      await response.body?.cancel();
      return Date.parse(response.headers.get("date") ?? "");
    });
    const skew = Math.abs(theirs - ports.clock.now()) / 1000;
    if (!(skew > TEAMCHAT_LIMITS.clockSkewSeconds / 2)) return [];
    return [refusal(
      "clock-skewed",
      `The clock of this host and that of ${host} differ by ${Math.round(skew)} s, must agree`,
      { hints: ["timedatectl set-ntp true"] },
    )];
  } catch {
    return [refusal(
      "platform-unreachable",
      `Cannot reach ${host}: the connector's keys cannot be fetched from here`,
      { hints: [`curl -sS https://${host}/`] },
    )];
  }
}

/** The public front must forward only `/api/messages`. */
async function frontProblems(
  { ports }: VerbContext,
  publicUrl: string,
): Promise<readonly Refusal[]> {
  if (!/^https:\/\/[^/?#]+\/?$/.test(publicUrl)) {
    return [refusal(
      "public-url-invalid",
      `Cannot check "${publicUrl}": must be https://<host>`,
      { kind: "usage" },
    )];
  }
  const base = publicUrl.replace(/\/$/, "");
  const statusOf = (path: string, method: string): Promise<number> =>
    withinTime(ports.clock, ASK_MS_MAX, async (signal) => {
      const response = await ports.http.fetch(`${base}${path}`, {
        method,
        redirect: "manual",
        signal,
      });
      await response.body?.cancel();
      return response.status;
    });
  try {
    const problems: Refusal[] = [];
    const inbound = await statusOf("/api/messages", "POST");
    if (inbound !== 401) {
      problems.push(refusal(
        "front-closed",
        `${base}/api/messages answers ${inbound} to a request without a token, must answer 401`,
        {
          details: ["docs/teamchat.md, The HTTPS front"],
          hints: [`curl -sSi -X POST ${base}/api/messages`],
        },
      ));
    }
    for (const path of ["/register", "/healthz", "/metrics", "/"]) {
      const status = await statusOf(path, "GET");
      if (status !== 404) {
        problems.push(refusal(
          "front-open",
          `${base}${path} answers ${status}, must answer 404: only /api/messages is public`,
          {
            details: ["docs/teamchat.md, The HTTPS front"],
            hints: [`curl -sSi ${base}${path}`],
          },
        ));
      }
    }
    return problems;
  } catch {
    return [refusal("front-unreachable", `Cannot reach ${base}: no answer`, {
      hints: [`curl -sS -X POST ${base}/api/messages`],
    })];
  }
}
