/**
 * Rows of the verb table: the MCP catalog. Data only.
 *
 * @module
 */

import type { Argument, Option, Verb } from "core/verbs/verb.ts";

const MCP: Argument = { name: "mcp", summary: "Name of a catalog entry" };
const INTO: Option = {
  name: "into",
  value: "layer",
  summary: 'Where to write: "overlay" (the repo) or "runtime"; the overlay when there is a repo',
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
      { name: "url", value: "url", summary: "Server of a vendor that offers nothing to install" },
      INTO,
      PROGRAM,
      { name: "arg", value: "text", repeat: true, summary: "Argument of the server; repeatable" },
      { name: "env", value: "KEY", repeat: true, summary: "Key that it needs; repeatable" },
      {
        ...{ name: "header", value: "name: text", repeat: true },
        summary: "Header for --url, with {KEY} where a key goes; repeatable",
      },
      GRANT,
      { name: "shared", summary: "One server for every agent, with the shared key" },
      { name: "summary", value: "text", summary: "One line for the catalog" },
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Pin a new MCP into the catalog, try it out and propose its permissions",
    example: "fleetctl mcp catalog add wiki --npm @example/wiki-mcp@1.4.2 --env WIKI_TOKEN",
  },
  {
    path: ["mcp", "catalog", "browse"],
    args: [{ name: "word", optional: true, summary: "Name of an entry, or a word to look for" }],
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
      { name: "name", value: "mcp", summary: "Name of the entry; from the document when absent" },
      INTO,
      PROGRAM,
      GRANT,
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
      { name: "accept", value: "hash", summary: "Accept what waits, when it still has this hash" },
      { name: "from", value: "agent", summary: "Look at what this agent's running server lists" },
    ],
    scope: "operator",
    runs: "root",
    mutates: true,
    summary: "Show what an upgrade widened, or accept it",
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
    summary: "Move the pin of a catalog entry and hold back what widened",
    example: "fleetctl mcp catalog upgrade wiki --to 1.5.0",
  },
];
