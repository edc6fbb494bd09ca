/**
 * Builds `docs/conformance.md` from the suite's results: every required scenario once, with its
 * result or the reason why it was not run. Pure.
 *
 * @module
 */

/** Result of one scenario: the number of checks, or why it does not test the product. */
export type Result = { readonly checks: number } | { readonly reason: string };

/** Results of one revision. */
export interface RevisionResults {
  readonly revision: string;
  readonly server: ReadonlyMap<string, Result>;
  readonly client: ReadonlyMap<string, Result>;
}

const SIGN_IN = "not built: sign-in to an MCP that is reached by URL";
/** Returns why a client scenario is not run; undefined when it is. */
export function notApplicable(scenario: string): string | undefined {
  if (scenario.startsWith("auth/")) return SIGN_IN;
  return scenario === "http-custom-headers"
    ? "not built: some tools require arguments in headers too. " +
      "`mcp call` of a URL does not send such headers, so a server that requires them refuses " +
      "the call"
    : undefined;
}

/** Returns whether a scenario exists only for HTTP and runs with an MCP that is reached by URL. */
export function isByUrl(scenario: string): boolean {
  return scenario === "sse-retry" || scenario.startsWith("http-");
}

/** Server scenarios that the test's HTTP front passes; they do not test the product. */
const OF_THE_FRONT: Readonly<Record<string, string>> = {
  "dns-rebinding-protection": "passed by the test's HTTP front; a socket has no Host or Origin",
  "server-sse-multiple-streams":
    "passed; event streams exist only in HTTP, so this tests parallel calls over the socket",
  "server-stateless":
    "passed; its four checks of statuses and headers concern only the test's HTTP front",
};

const BY_URL = "HTTP only; run as an MCP that is reached by URL";

/** Returns the text of the page. */
export function conformancePage(version: string, revisions: readonly RevisionResults[]): string {
  return `# Conformance

The required scenarios of the official suite \`@modelcontextprotocol/conformance@${version}\` run
offline by \`./dev test conformance\`. They test every step of a call: proxy, gate and socket. They
test both protocol revisions in use. \`FLEETCTL_GOLDEN=rewrite ./dev test conformance\` writes
this page. The list of expected failures, \`tests/conformance/expected_failures.yaml\`, is empty.

**As a server.** The suite speaks HTTP. The test's HTTP front gives each client a proxy
(\`units/mcp/proxy.ts\`, with the gate) on the unix socket of a fixture server. Every message that
the suite validates against the schema of the revision has passed framing, the checks of
message form and the gate.

**As a client.** The suite starts the client of \`mcp read\` and \`mcp call\`. The client reaches
the suite's server through the product's proxy, a separate process, and a unix socket. It answers
each question of a server (form and URL mode; \`input_required\` of 2026-07-28) with the defaults.

${revisions.map(revisionText).join("\n")}`;
}

function revisionText({ revision, server, client }: RevisionResults): string {
  const applies = [...client.values()].filter((each) => "checks" in each).length;
  return `## ${revision}

Server: ${server.size} of ${server.size} required scenarios pass.
Client: ${applies} of ${applies} that were run pass, ${client.size - applies} were not run.

| Server scenario | Checks passed | |
|---|---|---|
${[...server].map(([name, result]) => row(name, result, OF_THE_FRONT[name])).join("\n")}

| Client scenario | Checks passed | |
|---|---|---|
${[...client].map(([name, result]) => row(name, result, isByUrl(name) ? BY_URL : "")).join("\n")}
`;
}

function row(name: string, result: Result, note = ""): string {
  return "checks" in result
    ? `| \`${name}\` | ${result.checks} | ${note} |`
    : `| \`${name}\` | not run | ${result.reason} |`;
}
