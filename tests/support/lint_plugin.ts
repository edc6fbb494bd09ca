/**
 * Lint rules of this tree: what is said in prose in HACKING.md and can be seen in one file.
 * Runs inside `deno lint`; rules about several files are in `tests/laws_test.ts`.
 *
 * @module
 */

/** Names that only adapters, composition roots and browser code may touch, with what to use instead. */
const EDGE_NAMES: Readonly<Record<string, string>> = {
  Deno: "a port of core/ports.ts",
  fetch: "HttpClient",
  setTimeout: "Clock.after or Clock.sleep",
  setInterval: "Clock.after",
  process: "a port of core/ports.ts",
};
/** `object.member` pairs that hide time or chance. */
const EDGE_MEMBERS: Readonly<Record<string, string>> = {
  "Date.now": "Clock.now",
  "Math.random": "Random.fraction",
  "performance.now": "Clock.monotonic",
  "crypto.randomUUID": "Random.uuid",
  "crypto.getRandomValues": "Random.bytes",
};

/** Returns whether a file may touch the machine: adapters, composition roots, browser code, tests. */
export function isEdgeFile(path: string): boolean {
  return /\/core\/os\//.test(path) || /\/main\.ts$/.test(path) || /\/gateway\/web\//.test(path) ||
    /\/tests\//.test(path);
}

const edge: Deno.lint.Rule = {
  create(context) {
    if (isEdgeFile(context.filename)) return {};
    const isParseFile = context.filename.endsWith("/cli/parse.ts");
    return {
      Identifier(node) {
        const wanted = Object.hasOwn(EDGE_NAMES, node.name) ? EDGE_NAMES[node.name] : undefined;
        if (wanted === undefined) return;
        const parent = node.parent;
        // `http.fetch(…)`, `{ fetch: … }` and type members are other things of the same name.
        if (parent.type === "MemberExpression" && parent.property === node) return;
        if (parent.type === "Property" && parent.key === node && !parent.shorthand) return;
        if (/^TS(PropertySignature|MethodSignature|QualifiedName)$/.test(parent.type)) return;
        if (parent.type === "MethodDefinition" || parent.type === "PropertyDefinition") return;
        const isGlobalUse = parent.type === "MemberExpression" ||
          parent.type === "CallExpression" ||
          parent.type === "NewExpression";
        if (!isGlobalUse) return;
        if (parent.type === "CallExpression" && parent.callee !== node) return;
        context.report({
          node,
          message: `"${node.name}" is for core/os and main.ts only; take ${wanted} as a parameter`,
        });
      },
      MemberExpression(node) {
        if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return;
        const name = `${node.object.name}.${node.property.name}`;
        const wanted = Object.hasOwn(EDGE_MEMBERS, name) ? EDGE_MEMBERS[name] : undefined;
        if (wanted === undefined) return;
        context.report({ node, message: `"${name}" is for core/os only; take ${wanted}` });
      },
      ImportDeclaration(node) {
        const from = node.source.value;
        if (!from.startsWith("node:") || (isParseFile && from === "node:util")) return;
        context.report({ node, message: `"${from}" is for core/os and main.ts only; take a port` });
      },
    };
  },
};

const moduleDoc: Deno.lint.Rule = {
  create(context) {
    return {
      Program(node) {
        const text = context.sourceCode.getText(node);
        const whole = context.sourceCode.text;
        const start = whole.startsWith("#!") ? whole.slice(whole.indexOf("\n") + 1) : whole;
        const head = start.slice(0, start.indexOf("*/") + 2);
        if (head.startsWith("/**") && head.includes("@module")) return;
        if (text === "") return;
        context.report({
          node,
          message:
            "a file opens with a /** … @module */ block: what lives here, what it never does",
        });
      },
    };
  },
};

const importByRoot: Deno.lint.Rule = {
  create(context) {
    return {
      ImportDeclaration(node) {
        const from = node.source.value;
        if (!from.startsWith("..")) return;
        context.report({
          node,
          message:
            `import "${from}" by its root name (core/…, cli/…), so that direction is visible`,
        });
      },
    };
  },
};

const comments: Deno.lint.Rule = {
  create(context) {
    return {
      Program(node) {
        for (const comment of context.sourceCode.getAllComments()) {
          if (
            /\bTODO\b(?!\(#\d+\))/.test(comment.value) || /\b(FIXME|XXX|HACK)\b/.test(comment.value)
          ) {
            context.report({ node, range: comment.range, message: "write TODO(#issue): or do it" });
          }
        }
      },
    };
  },
};

/** The plugin that `deno.json` names. */
const plugin: Deno.lint.Plugin = {
  name: "tree",
  rules: {
    edge,
    "module-doc": moduleDoc,
    "import-by-root": importByRoot,
    comments,
  },
};
export default plugin;
