/**
 * Rows of the verb table: the MCP catalog. Data only.
 *
 * @module
 */

import type { Argument, Option, Verb } from "core/verbs/verb.ts";

const MCP: Argument = { name: "mcp", summary: "Name of a catalog entry" };
const INTO: Option = {
  name: "into",
  value: "folder",
  summary: 'Catalog to write: "overlay" (the repo), "runtime", or its folder; default the overlay',
};
const RISK: Option = {
  name: "risk",
  value: "tool=mark",
  repeat: true,
  summary: 'Mark of a tool: ask, block or allow; "*=ask" marks every tool; repeatable',
};
const GRANT: Option = {
  name: "grant",
  value: "kind=value",
  repeat: true,
  summary: "Permission of the server: net=host:port, read=, write=, run=, sys=, env=; repeatable",
};
const PROGRAM: Option = {
  name: "program",
  value: "name",
  summary: "Which of the package's programs is the server",
};

/** Verbs whose first words are `mcp catalog`. */
export const MCP_CATALOG_VERBS: readonly Verb[] = [
  {
    path: ["mcp", "catalog", "add"],
    args: [MCP],
    options: [
      { name: "npm", value: "pkg@ver", summary: "Exact npm package and version" },
      { name: "uvx", value: "pkg==ver", summary: "Exact Python package and version" },
      { name: "url", value: "url", summary: "URL of a server that runs at its vendor" },
      INTO,
      PROGRAM,
      {
        name: "engine",
        value: "engine",
        choices: ["deno", "node"],
        summary: "What runs an npm server: deno, limited to its grants, or node, in a sandbox",
      },
      { name: "arg", value: "text", repeat: true, summary: "Argument of the server; repeatable" },
      { name: "env", value: "KEY", repeat: true, summary: "Key that it needs; repeatable" },
      {
        name: "header",
        value: "name: text",
        repeat: true,
        summary: "Header for --url, with {KEY} in place of a key; repeatable",
      },
      {
        name: "set-env",
        value: "NAME=VALUE",
        repeat: true,
        summary:
          "Fixed variable that is not secret; {home}, {workdir} and {tree} stand for folders",
      },
      GRANT,
      RISK,
      { name: "shared", summary: "One server for every agent, with the shared key" },
      { name: "summary", value: "text", summary: "One line for the catalog" },
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Pin a new MCP, test it, propose its permissions and the tools that need approval",
    example: "fleetctl mcp catalog add wiki --npm @example/wiki-mcp@1.4.2 --env WIKI_TOKEN",
  },
  {
    path: ["mcp", "catalog", "browse"],
    args: [{ name: "word", optional: true, summary: "Name of an entry, or a word to search for" }],
    options: [],
    scope: "anyone",
    runs: "here",
    mutates: false,
    summary: "Show entries in full: source, keys, permissions, marks, limits",
    example: "fleetctl mcp catalog browse git",
  },
  {
    path: ["mcp", "catalog", "import"],
    args: [{ name: "from", summary: "File or URL of a server.json of the official registry" }],
    options: [
      { name: "name", value: "mcp", summary: "Name of the entry; from the document if omitted" },
      INTO,
      PROGRAM,
      {
        name: "env",
        value: "KEY",
        repeat: true,
        summary: "Key of the document that its server may see; repeatable",
      },
      GRANT,
      RISK,
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Add the server that a server.json describes",
    example: "fleetctl mcp catalog import ./server.json --name wiki",
  },
  {
    path: ["mcp", "catalog", "list"],
    args: [],
    options: [],
    scope: "anyone",
    runs: "here",
    mutates: false,
    summary: "List the catalog: version, credentials, sharing, origin",
    example: "fleetctl mcp catalog list",
  },
  {
    path: ["mcp", "catalog", "remove"],
    args: [MCP],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Remove an MCP from the catalog",
    example: "fleetctl mcp catalog remove wiki",
  },
  {
    path: ["mcp", "catalog", "review"],
    args: [MCP],
    options: [
      {
        name: "accept",
        value: "hash",
        summary: "Accept the pending change if its hash still matches",
      },
      { name: "from", value: "agent", summary: "Review what this agent's running server lists" },
      RISK,
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Show what needs a review, accept it, or mark tools",
    example: "fleetctl mcp catalog review wiki",
  },
  {
    path: ["mcp", "catalog", "rollback"],
    args: [MCP],
    options: [],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Return to the entry and the vendored tree before the last change",
    example: "fleetctl mcp catalog rollback wiki",
  },
  {
    path: ["mcp", "catalog", "upgrade"],
    args: [MCP],
    options: [{ name: "to", value: "ver", summary: "Exact version" }, GRANT, INTO],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Move the pin of a catalog entry and hold back what gained permissions",
    example: "fleetctl mcp catalog upgrade wiki --to 1.5.0",
  },
];
