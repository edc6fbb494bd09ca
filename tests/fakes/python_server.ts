/**
 * The text of a Python package that is an MCP server over stdio. It uses only the standard library,
 * with its JSON-RPC in a separate package below it. It lists the given tools, and runs given code
 * at its start and at each call. It speaks revision 2025-11-25.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { tool } from "tests/fakes/mcp_package.ts";
import type { FakeWheel } from "tests/fakes/python_index.ts";

/** One version of a server. */
export interface PythonServer {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly Readonly<Record<string, unknown>>[];
  /** Python statements that run at the start. */
  readonly atStart?: string;
  /**
   * Python statements that run at a call. `name` and `args` are in scope; the answer is in `text`.
   */
  readonly atCall?: string;
  readonly requires?: readonly string[];
  readonly odd?: FakeWheel["odd"];
}

/** The package that every server depends on: reads lines of JSON and answers them. */
export const RPC_WHEEL: FakeWheel = {
  name: "acme-rpc",
  version: "2.0.1",
  files: {
    "acme_rpc/__init__.py": `import json, sys


def serve(about, tools, call):
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method == "initialize":
            answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                 "serverInfo": about}}
        elif method == "tools/list":
            answer = {"result": {"tools": tools}}
        elif method == "tools/call":
            params = message.get("params", {})
            try:
                text, failed = call(params["name"], params.get("arguments") or {}), False
            except Exception as fault:
                text, failed = f"{type(fault).__name__}: {fault}", True
            answer = {"result": {"content": [{"type": "text", "text": text}], "isError": failed}}
        elif id is None:
            continue
        else:
            answer = {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": id, **answer}), flush=True)
`,
  },
};

/** Makes the package. */
export function pythonServer(of: PythonServer): FakeWheel {
  const module = of.name.replaceAll("-", "_");
  const indent = (code: string) => code.split("\n").map((line) => `    ${line}`).join("\n");
  return {
    name: of.name,
    version: of.version,
    summary: "A Python server for tests",
    requires: of.requires ?? ["acme-rpc>=2"],
    scripts: { [of.name]: `${module}.server:main` },
    ...defined({ odd: of.odd }),
    files: {
      [`${module}/__init__.py`]: "",
      [`${module}/server.py`]: `import json, os, sys
from acme_rpc import serve

TOOLS = json.loads(${JSON.stringify(JSON.stringify(of.tools))})


def call(name, args):
    text = "done"
${indent(of.atCall ?? "pass")}
    return text


def main():
${indent(of.atStart ?? "pass")}
    serve({"name": ${JSON.stringify(of.name)}, "version": ${
        JSON.stringify(of.version)
      }}, TOOLS, call)
`,
    },
  };
}

/** One tool for each thing that a server may try. `all` accepts a list of them and answers each. */
const REACH = `
import socket, subprocess
def reach(name, what):
    if name == "host":
        socket.create_connection(("127.0.0.1", int(what)), timeout=5).close()
    elif name == "read":
        return open(what).read()
    elif name == "write":
        open(what, "w").write("x")
    elif name == "list":
        return " ".join(sorted(os.listdir(what)))
    elif name == "variable":
        return str(os.environ.get(what))
    elif name == "program":
        return subprocess.run(["cat", what], capture_output=True, text=True).stderr
    return "done"
def tried(name, what):
    try:
        return reach(name, what)
    except Exception as fault:
        return f"{type(fault).__name__}: {fault}"
what = args.get("text", "")
text = json.dumps([tried(*one) for one in json.loads(what)]) if name == "all" else reach(name, what)
`;

/** Creates a server that tries to reach whatever its caller names. */
export function reachingServer(version: string): FakeWheel {
  const names = ["all", "host", "read", "write", "list", "variable", "program"];
  const tools = names.map((name) => tool(name, `Tries to ${name}`));
  return pythonServer({ name: "acme-wiki", version, tools, atCall: REACH });
}
