/**
 * `fleetctl webview-login doctor [--public-url URL]`: sends a request to the login proxy through
 * its HTTPS front, and reports what the front does not forward. Logs no one in and changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The address of the front, if it is not `WEBVIEW_URL`. */
export interface Options {
  readonly publicUrl: string | undefined;
}

/** Parses the option. Its value is checked when it is used. */
export function parseOptions({ options }: Invocation): Result<Options> {
  return ok({ publicUrl: options["public-url"] });
}

const ASK_MS_MAX = 5_000;
const HINT = "see docs/login.md, In front of it";

/** Sends the request. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const roles = parseHostRoles(await ports.files.readText(paths.rolesFile), paths.rolesFile);
  if (!roles.ok) return roles;
  const { login } = roles.value;
  const url = options.publicUrl ?? login?.settings?.WEBVIEW_URL;
  const problems = login === undefined
    ? [refusal("login-not-installed", "The login proxy is not installed on this host", {
      hints: ["fleetctl webview-login install"],
    })]
    : url === undefined
    ? [
      refusal(
        "login-url-unknown",
        "The login proxy does not know its address, must have WEBVIEW_URL",
        {
          hints: ["fleetctl webview-login install --help"],
        },
      ),
    ]
    : await askFront(context, url);
  return ok({
    json: {
      ok: problems.length === 0,
      url: url ?? null,
      problems: problems.map(({ code, message, hints }) => ({ code, message, hints })),
    },
    blocks: [{
      kind: "lines",
      lines: problems.length === 0
        ? [{ text: `the front at ${url} passes on what the login proxy needs`, tone: "good" }]
        : [],
    }],
    faults: problems,
  });
}

async function askFront({ ports }: VerbContext, url: string): Promise<readonly Refusal[]> {
  if (!/^https:\/\/[^/?#\s]+\/?$/.test(url)) {
    return [refusal(
      "public-url-invalid",
      `Cannot check "${url}": must be https://<host>`,
      { kind: "usage" },
    )];
  }
  const base = url.replace(/\/$/, "");
  const requestId = ports.random.uuid();
  let answer: Response;
  try {
    answer = await withinTime(ports.clock, ASK_MS_MAX, async (signal) => {
      const response = await ports.http.fetch(`${base}/auth/login`, {
        headers: { accept: "application/json", "x-request-id": requestId },
        redirect: "manual",
        signal,
      });
      await response.body?.cancel();
      return response;
    });
  } catch {
    return [refusal("login-front-unreachable", `Cannot reach ${base}: no answer over https`, {
      hints: [`curl -sS ${base}/auth/login`],
    })];
  }
  return frontProblems(answer, { base, requestId });
}

/** Returns the problems of the front that an answer without a login reveals. */
export function frontProblems(
  { status, headers }: Response,
  { base, requestId }: { readonly base: string; readonly requestId: string },
): readonly Refusal[] {
  const hints = [HINT];
  if (status === 421) {
    return [refusal(
      "login-front-host",
      `The front at ${base} changes the Host header, must forward it`,
      { hints },
    )];
  }
  if (status !== 401 || !/^(?:Basic|Session) /.test(headers.get("www-authenticate") ?? "")) {
    return [refusal(
      "login-front-elsewhere",
      `${base}/auth/login answers ${status}, must be forwarded to the login proxy`,
      { hints },
    )];
  }
  const problems: Refusal[] = [];
  if (headers.get("x-request-id") !== requestId) {
    problems.push(refusal(
      "login-front-request-id",
      `The front at ${base} drops X-Request-Id, must pass it both ways`,
      { hints },
    ));
  }
  // The proxy sends this header when it believes that the browser used https.
  if (!headers.has("strict-transport-security")) {
    problems.push(refusal(
      "login-front-scheme",
      `The login proxy does not know that ${base} is https, must get X-Forwarded-Proto from a ` +
        "proxy in WEBVIEW_TRUSTED_PROXIES",
      { hints },
    ));
  }
  return problems;
}
