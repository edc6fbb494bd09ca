/**
 * Rows of the verb table: the host, the fleet and the roles. Data only.
 *
 * @module
 */

import type { Option, Verb } from "core/verbs/verb.ts";

type Row = Omit<Verb, "args" | "options" | "runs" | "mutates"> & Partial<Verb>;

/**
 * Builds the row of an operator's verb that changes the host; fields of `row` override the
 * defaults.
 */
function operatorRow(row: Omit<Row, "scope">): Verb {
  return { args: [], options: [], scope: "operator", runs: "root", mutates: true, ...row };
}

/** Options of a verb that removes a role from this host. */
function removalOptions(waiting?: "waiting"): readonly Option[] {
  return [
    { name: "delete-state", summary: "Also delete its data permanently" },
    ...(waiting === undefined
      ? []
      : [{ name: "despite-waiting", summary: "Remove it even if turns or messages wait there" }]),
    { name: "yes", summary: "Skip the confirmation" },
    { name: "dry-run", summary: "Print what would change" },
  ];
}

/** Verbs about the host, the fleet and the roles. */
export const HOST_VERBS: readonly Verb[] = [
  operatorRow({
    path: ["access", "explain"],
    mutates: false,
    args: [
      { name: "caller", summary: 'root, gateway, host, "nobody", the name of an agent, or a uid' },
      { name: "verb", rest: true, summary: 'The command line; "--" goes before its options' },
    ],
    summary: "Explain the decision about a command line step by step",
    example: "fleetctl access explain ada -- secret set KEY --agent self",
  }),
  operatorRow({
    path: ["audit", "list"],
    mutates: false,
    options: [
      { name: "caller", value: "who", summary: "Only of this agent, uid or kind of caller" },
      { name: "verb", value: "words", summary: "Only verbs that start with these words" },
      { name: "denied", summary: "Only what was denied" },
      { name: "since", value: "when", summary: "Not older than a span (2h) or a UTC time" },
      { name: "limit", value: "n", summary: "Number of newest entries (default 50)" },
    ],
    summary: "List the decisions about verbs: caller, request, answer, reason",
    example: "fleetctl audit list --denied --since 1d",
  }),
  {
    path: ["apply"],
    args: [{
      name: "agent",
      optional: true,
      choices: ["self"],
      summary: 'Only the calling agent: "self"',
    }],
    options: [{
      name: "dry-run",
      summary: "Print the diff of units, client config and env, never the value of a key",
    }, {
      name: "now",
      summary: "Replace agents by a new version at once, also during a turn",
    }, {
      name: "steps",
      summary: "Print each long step on stderr as it begins, also with --json",
    }, {
      name: "waiting",
      summary: "Only replace agents that wait for the end of their turn; ends when none waits",
    }],
    scope: "self_or_host",
    target: { from: "argument", name: "agent", absent: "host" },
    isHostJob: true,
    runs: "root",
    mutates: true,
    summary: "Bring the host to the state in the ledger",
    example: "fleetctl apply --dry-run",
  },
  operatorRow({
    path: ["auth-broker"],
    summary: "Run the callback relay of OAuth sign-ins",
    example: "fleetctl auth-broker",
    later: true,
  }),
  {
    path: ["completion"],
    args: [{ name: "shell", choices: ["bash", "fish", "zsh"], summary: "Shell" }],
    options: [],
    scope: "anyone",
    runs: "here",
    mutates: false,
    summary: "Print the completion script of a shell",
    example: "fleetctl completion bash > /etc/bash_completion.d/fleetctl",
  },
  operatorRow({
    path: ["doctor"],
    mutates: false,
    summary: "List soft settings and faults of this host",
    example: "fleetctl doctor",
  }),
  operatorRow({
    path: ["fleet", "adopt"],
    summary: "Adopt the shared ledger and enroll this host's key",
    example: "fleetctl fleet adopt",
    later: true,
  }),
  operatorRow({
    path: ["fleet", "sync"],
    summary: "Pull the shared ledger",
    example: "fleetctl fleet sync",
    later: true,
  }),
  operatorRow({
    path: ["gc"],
    options: [
      {
        name: "events",
        value: "D",
        summary: "Keep the gateway's events for this time (default 365d)",
      },
      { name: "logs", value: "D", summary: "Keep logs of removed units (default 30d)" },
      { name: "trees", value: "D", summary: "Keep trees of MCPs that no agent has (default 30d)" },
      { name: "dry-run", summary: "Print what would be deleted" },
    ],
    summary: "Delete old events, trees that no agent needs and logs of removed units",
    example: "fleetctl gc --events 180d --dry-run",
  }),
  {
    path: ["help"],
    args: [{ name: "verb", optional: true, rest: true, summary: "Words of a verb or group" }],
    options: [{ name: "man", summary: "Print the manual page in roff" }],
    scope: "anyone",
    runs: "here",
    mutates: false,
    summary: "Show help of a verb, a group or everything",
    example: "fleetctl help mcp add",
  },
  operatorRow({
    path: ["host", "stream-stats"],
    mutates: false,
    summary: "Show stream connects and disconnects of the running gateway by route",
    example: "fleetctl host stream-stats",
    later: true,
  }),
  {
    path: ["logs"],
    args: [{
      name: "subject",
      summary: 'A role (gateway, login, daemon), an agent or "self", or an MCP',
    }],
    options: [
      { name: "request", value: "ID", summary: "Only lines with this request id" },
      { name: "lines", value: "N", summary: "Number of newest lines (default 50)" },
      { name: "follow", summary: "Follow new lines until Ctrl-C" },
    ],
    scope: "agent",
    runs: "root",
    mutates: false,
    summary: "Show what a role, an agent or the servers of an MCP have logged",
    example: "fleetctl logs gateway --request 9f2c1e",
  },
  {
    path: ["status"],
    args: [],
    options: [],
    scope: "agent",
    isHostJob: true,
    runs: "root",
    mutates: false,
    summary: "Show roles, agents, MCPs and versions, problems and suggested commands",
    example: "fleetctl status",
  },
  operatorRow({
    path: ["teams-gateway", "doctor"],
    options: [{
      name: "public-url",
      value: "URL",
      summary: "Also check the public front: only /api/messages may be reachable",
    }],
    mutates: false,
    summary: "Check the team-chat gateway from its settings to the platform and suggest commands",
    example: "fleetctl teams-gateway doctor --public-url https://bot.example.org",
  }),
  operatorRow({
    path: ["teams-gateway", "explain"],
    args: [{ name: "activity", summary: "File with one activity as JSON" }],
    mutates: false,
    summary: "Explain what the team-chat gateway would do with an activity",
    example: "fleetctl teams-gateway explain activity.json",
  }),
  operatorRow({
    path: ["teams-gateway", "install"],
    options: [
      {
        name: "cloud",
        value: "NAME",
        summary: "public, gcchigh, dod, china, or the file of a private cloud",
      },
      { name: "listen", value: "ADDR", summary: "host:port of /api/messages" },
      { name: "register-listen", value: "ADDR", summary: "host:port of /register" },
      {
        name: "file-hosts",
        value: "HOSTS",
        summary: "Hosts of the tenant's files, separated by commas; none to fetch no files",
      },
      { name: "dry-run", summary: "Print what would change" },
    ],
    summary: "Install the team-chat gateway on this host, or change where it listens",
    example: "fleetctl teams-gateway install --cloud public",
  }),
  operatorRow({
    path: ["teams-gateway", "remove"],
    options: removalOptions("waiting"),
    confirms: { withSwitch: "delete-state", word: "teams-gateway" },
    summary: "Remove the team-chat gateway; its data stays unless --delete-state is given",
    example: "fleetctl teams-gateway remove --dry-run",
  }),
  operatorRow({
    path: ["teams-gateway", "status"],
    mutates: false,
    summary: "Show the unit and the number of agents in the ledger",
    example: "fleetctl teams-gateway status",
  }),
  operatorRow({
    path: ["up"],
    runs: "here",
    options: [
      { name: "root", value: "DIR", summary: "Folder that contains the whole host" },
      { name: "listen", value: "ADDR", summary: "Address to bind (default 127.0.0.1)" },
      { name: "port-base", value: "N", summary: "Move every port by this base" },
      {
        name: "workdir",
        value: "DIR",
        summary: "Folder that the agents work in (default ~/workspace of each)",
      },
      { name: "turn", value: "TEXT", summary: "Send one turn, print it, and exit" },
      { name: "agent", value: "NAME", summary: "Agent that gets the turn (default ada)" },
      {
        name: "model-from",
        value: "SOURCE",
        summary: "Connect a model: anthropic or openai (key in the environment), an address, none",
      },
      {
        name: "model",
        value: "ID",
        summary: "Model of that provider (default its newest or first)",
      },
      { name: "teamchat", summary: "Also run the team-chat gateway, in local mode" },
    ],
    summary: "Run a whole host in the foreground, without root",
    example: "fleetctl up --turn 'what can you do'",
  }),
  operatorRow({
    path: ["webview-gateway", "install"],
    options: [{
      name: "trust",
      value: "mode",
      choices: ["assertion", "header"],
      summary: "What proves the user to the cockpit: a signed assertion, or the header alone",
    }, {
      name: "hosts",
      value: "NAMES",
      summary: "With header: names that your own proxy sends in Host, separated by commas",
    }, { name: "dry-run", summary: "Print what would change" }],
    summary: "Install the webview gateway on this host, or change what it trusts",
    example: "fleetctl webview-gateway install --trust assertion",
  }),
  operatorRow({
    path: ["webview-gateway", "remove"],
    options: removalOptions("waiting"),
    confirms: { withSwitch: "delete-state", word: "webview-gateway" },
    summary: "Remove the webview gateway; its data stays unless --delete-state is given",
    example: "fleetctl webview-gateway remove --dry-run",
  }),
  operatorRow({
    path: ["webview-gateway", "status"],
    mutates: false,
    summary: "Show the unit and the ledger of the webview gateway",
    example: "fleetctl webview-gateway status",
  }),
  operatorRow({
    path: ["webview-login", "doctor"],
    options: [{
      name: "public-url",
      value: "URL",
      summary: "Address of the HTTPS front, when it is not WEBVIEW_URL",
    }],
    mutates: false,
    summary: "Test the login proxy through its HTTPS front",
    example: "fleetctl webview-login doctor --public-url https://cockpit.example.org",
  }),
  operatorRow({
    path: ["webview-login", "front"],
    args: [{
      name: "server",
      choices: ["nginx", "caddy"],
      summary: "The reverse proxy in front of it",
    }],
    mutates: false,
    summary: "Print the HTTPS front of the installed login proxy",
    example: "fleetctl webview-login front caddy > /etc/caddy/Caddyfile",
  }),
  operatorRow({
    path: ["webview-login", "install"],
    options: [
      { name: "driver", value: "driver", choices: ["basic", "oidc"], summary: "How people log in" },
      { name: "listen", value: "host:port", summary: "Where it listens (default 0.0.0.0:8736)" },
      { name: "url", value: "URL", summary: "Address of the cockpit in browsers" },
      { name: "issuer", value: "URL", summary: "The OpenID provider" },
      { name: "client-id", value: "ID", summary: "Id of this application at the provider" },
      {
        name: "front",
        value: "server",
        choices: ["nginx", "caddy"],
        summary: "Print the HTTPS front for that server, ready for its sites",
      },
      { name: "dry-run", summary: "Print what would change" },
    ],
    summary: "Install the login proxy, or change how it is installed",
    example: "fleetctl webview-login install --driver basic",
  }),
  operatorRow({
    path: ["webview-login", "pins", "clear"],
    args: [{ name: "email", summary: "Login identity" }],
    summary: "Forget the pinned issuer and subject of an address, and end its sessions",
    example: "fleetctl webview-login pins clear mia@example.org",
  }),
  operatorRow({
    path: ["webview-login", "pins", "list"],
    mutates: false,
    summary: "List the pinned issuer and subject of each address",
    example: "fleetctl webview-login pins list",
  }),
  operatorRow({
    path: ["webview-login", "remove"],
    options: removalOptions(),
    confirms: { withSwitch: "delete-state", word: "webview-login" },
    summary: "Remove the login proxy; its data stays unless --delete-state is given",
    example: "fleetctl webview-login remove --dry-run",
  }),
  operatorRow({
    path: ["webview-login", "sessions", "end"],
    args: [{ name: "email", summary: "Login identity" }],
    summary: "End every browser session of an address",
    example: "fleetctl webview-login sessions end mia@example.org",
  }),
  operatorRow({
    path: ["webview-login", "sessions", "list"],
    args: [{ name: "email", optional: true, summary: "Login identity; all if omitted" }],
    mutates: false,
    summary: "List browser sessions, newest first",
    example: "fleetctl webview-login sessions list",
  }),
  operatorRow({
    path: ["webview-login", "status"],
    mutates: false,
    summary: "Show the unit, the driver and the number of sessions",
    example: "fleetctl webview-login status",
  }),
  operatorRow({
    path: ["webview-login", "users", "list"],
    mutates: false,
    summary: "List who logs in with a password, and which agent each reaches",
    example: "fleetctl webview-login users list",
  }),
  operatorRow({
    path: ["webview-login", "users", "remove"],
    args: [{ name: "email", summary: "Login identity" }],
    summary: "Remove the login of an address, and end its sessions",
    example: "fleetctl webview-login users remove mia@example.org",
  }),
  operatorRow({
    path: ["webview-login", "users", "set"],
    args: [{ name: "email", summary: "Login identity" }],
    options: [
      {
        name: "password",
        value: "-",
        secret: true,
        unless: ["generate"],
        summary: 'Its password; "-" reads it from stdin; prompted for if omitted',
      },
      { name: "generate", summary: "Generate the password, and print it once" },
    ],
    summary: "Give an address a login, or a new password; only its hash is stored",
    example: "fleetctl webview-login users set mia@example.org --generate",
  }),
];
