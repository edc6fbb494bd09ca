/**
 * Lint rules of this tree: the rules of HACKING.md that can be checked in one file. Runs inside
 * `deno lint`; rules about several files are in `tests/laws_test.ts`.
 *
 * @module
 */

import { privateWords } from "tests/support/plain_words.ts";

/** Names that only adapters, composition roots and browser code may use, with the replacement. */
const EDGE_NAMES: Readonly<Record<string, string>> = {
  Deno: "a port of core/ports/",
  EventSource: "HttpClient",
  WebSocket: "Sockets.connectFrames",
  Worker: "a port of core/ports/",
  fetch: "HttpClient",
  process: "a port of core/ports/",
  setImmediate: "Clock.after",
  setInterval: "Clock.after",
  setTimeout: "Clock.after or Clock.sleep",
};
/** `object.member` pairs that depend on time or randomness. */
const EDGE_MEMBERS: Readonly<Record<string, string>> = {
  "AbortSignal.timeout": "withinTime of core/concurrency/time_limit.ts",
  "Date.now": "Clock.now",
  "Math.random": "Random.fraction",
  "Temporal.Now": "Clock.now",
  "performance.now": "Clock.monotonic",
  "performance.timeOrigin": "Clock.now",
  "crypto.randomUUID": "Random.uuid",
  "crypto.getRandomValues": "Random.bytes",
};

/** A folder named `os` anywhere in the tree. The tree itself may be below another folder. */
const ADAPTER = /\/(core|cli|gateway|login|teamchat|units)\/([^/]+\/)*os\//;

/**
 * Returns whether a file may touch the machine: adapters, composition roots, browser code, tests.
 */
export function isEdgeFile(path: string): boolean {
  return ADAPTER.test(path) || /\/main\.ts$/.test(path) || /\/gateway\/web\//.test(path) ||
    /\/tests\//.test(path);
}

/** Returns the text of a literal or of a template without expressions; otherwise undefined. */
function literalText(node: Deno.lint.Expression | Deno.lint.PrivateIdentifier): string | undefined {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type === "TemplateLiteral" && node.expressions.length === 0) {
    return node.quasis[0]?.cooked;
  }
  return undefined;
}

/** Returns whether an identifier is the global of that name, and not a member, key or type. */
function isGlobalUse(node: Deno.lint.Identifier): boolean {
  const { parent } = node;
  // `http.fetch(…)`, `{ fetch: … }` and type members only share the name.
  if (parent.type === "MemberExpression") return parent.object === node;
  if (parent.type === "CallExpression" || parent.type === "NewExpression") {
    return parent.callee === node;
  }
  return false;
}

const edge: Deno.lint.Rule = {
  create(context) {
    if (isEdgeFile(context.filename)) return {};
    const report = (node: Deno.lint.Node, name: string, wanted: string) =>
      context.report({
        node,
        message: `${name} is for folders named os and main.ts only; take ${wanted} as a parameter`,
      });
    const source = (node: Deno.lint.Node, from: string | undefined) => {
      if (from?.startsWith("node:") === true) report(node, `"${from}"`, "a port of core/ports/");
    };
    return {
      Identifier(node) {
        const wanted = Object.hasOwn(EDGE_NAMES, node.name) ? EDGE_NAMES[node.name] : undefined;
        if (wanted !== undefined && isGlobalUse(node)) report(node, `"${node.name}"`, wanted);
        // `globalThis` gives access to all names above, and no other value has this name.
        if (node.name !== "globalThis") return;
        if (node.parent.type === "Property" && node.parent.key === node) return;
        report(node, '"globalThis"', "a port of core/ports/");
      },
      MemberExpression(node) {
        if (node.object.type !== "Identifier") return;
        const member = !node.computed && node.property.type === "Identifier"
          ? node.property.name
          : literalText(node.property);
        const name = `${node.object.name}.${member}`;
        const wanted = Object.hasOwn(EDGE_MEMBERS, name) ? EDGE_MEMBERS[name] : undefined;
        if (wanted !== undefined) report(node, `"${name}"`, wanted);
      },
      "NewExpression[callee.name='Date'][arguments.length=0], CallExpression[callee.name='Date']"(
        node: Deno.lint.Node,
      ) {
        report(node, "the time of now", "Clock.now");
      },
      ImportDeclaration: (node) => source(node, node.source.value),
      ExportAllDeclaration: (node) => source(node, node.source.value),
      ExportNamedDeclaration: (node) => source(node, node.source?.value),
      ImportExpression: (node) => source(node, literalText(node.source)),
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

/** Reports `...(x === undefined ? {} : { x })`, also with another key or with a member of `x`. */
const optionalField: Deno.lint.Rule = {
  create(context) {
    const textOf = (node: Deno.lint.Node) => context.sourceCode.getText(node);
    return {
      "SpreadElement > ConditionalExpression"(node: Deno.lint.ConditionalExpression) {
        const { test, consequent, alternate } = node;
        if (test.type !== "BinaryExpression" || textOf(test.right) !== "undefined") return;
        const [none, some] = test.operator === "==="
          ? [consequent, alternate]
          : [alternate, consequent];
        if (none.type !== "ObjectExpression" || some.type !== "ObjectExpression") return;
        const [field, ...more] = some.properties;
        if (none.properties.length > 0 || field?.type !== "Property" || more.length > 0) return;
        const [name, value] = [textOf(test.left), textOf(field.value)];
        if (value !== name && !value.startsWith(`${name}.`)) return;
        context.report({ node, message: "write ...defined({ … }) of core/defined.ts" });
      },
    };
  },
};

/**
 * Reports `...{ a }` in an object and `...[a]` in an array or arguments, where the spread is
 * useless.
 */
const literalSpread: Deno.lint.Rule = {
  create(context) {
    return {
      SpreadElement({ argument, parent }) {
        const literal = parent.type === "ObjectExpression" ? "ObjectExpression" : "ArrayExpression";
        if (argument.type !== literal) return;
        context.report({ node: argument, message: "write what the literal holds in its place" });
      },
    };
  },
};

/**
 * Maximum lines of a function, from its first to its last line. The functions inside it count too,
 * so that a factory with many of them becomes a class. Test bodies are functions too.
 */
const FUNCTION_LINES_MAX = 70;

type FunctionNode =
  | Deno.lint.ArrowFunctionExpression
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression;

const functionLines: Deno.lint.Rule = {
  create(context) {
    const breaks = [...context.sourceCode.text.matchAll(/\n/g)].map(({ index }) => index);
    const check = (node: FunctionNode) => {
      const [from, to] = node.range;
      const lines = 1 + breaks.filter((at) => from < at && at < to).length;
      if (lines <= FUNCTION_LINES_MAX) return;
      const message = `a function of ${lines} lines, at most ${FUNCTION_LINES_MAX}: name its steps`;
      context.report({ node, message });
    };
    return {
      ArrowFunctionExpression: check,
      FunctionDeclaration: check,
      FunctionExpression: check,
    };
  },
};

/**
 * `response.json()` and similar calls read as much as a peer sends. Pages may use them, because
 * they trust their own gateway.
 */
const boundedBody: Deno.lint.Rule = {
  create(context) {
    if (/\/(tests|gateway\/web)\//.test(context.filename)) return {};
    return {
      "CallExpression[arguments.length=0] > MemberExpression"(node: Deno.lint.MemberExpression) {
        const { object, property } = node;
        if (object.type !== "Identifier" || property.type !== "Identifier") return;
        if (!/^(request|response|answer)$/.test(object.name)) return;
        if (!/^(text|json|arrayBuffer|bytes|blob|formData)$/.test(property.name)) return;
        context.report({ node, message: "read the body by core/net/bounded_body.ts" });
      },
    };
  },
};

/**
 * A bundle that imports the object `z` by name contains all of zod, translations included: 0.5 MB
 * of text that a program keeps in memory.
 */
const zodNamespace: Deno.lint.Rule = {
  create(context) {
    return {
      ImportDeclaration(node) {
        if (node.source.value !== "zod" || node.importKind === "type") return;
        if (node.specifiers.every(({ type }) => type === "ImportNamespaceSpecifier")) return;
        context.report({ node, message: 'write `import * as z from "zod"`' });
      },
    };
  },
};

/**
 * Private words of comments and texts, with the word to use (HACKING.md, "Terms"). Texts of tests
 * are what other programs say, hostile ones too.
 */
const words: Deno.lint.Rule = {
  create(context) {
    const isTest = context.filename.includes("/tests/");
    const report = (node: Deno.lint.Node, text: string, range: Deno.lint.Range) => {
      for (const { found, use } of privateWords(text)) {
        context.report({ node, range, message: `plain words: "${found}"; write ${use}` });
      }
    };
    const comments = {
      Program(node: Deno.lint.Program) {
        for (const { value, range } of context.sourceCode.getAllComments()) {
          report(node, value, range);
        }
      },
    };
    if (isTest) return comments;
    return {
      ...comments,
      Literal(node) {
        // A text of one word is a key, a kind or a name.
        if (typeof node.value === "string" && node.value.includes(" ")) {
          report(node, node.value, node.range);
        }
      },
      TemplateElement(node) {
        report(node, node.cooked, node.range);
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
    "function-lines": functionLines,
    "optional-field": optionalField,
    "literal-spread": literalSpread,
    "bounded-body": boundedBody,
    "zod-namespace": zodNamespace,
    words,
  },
};
export default plugin;
