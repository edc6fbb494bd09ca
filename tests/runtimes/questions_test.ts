/**
 * Questions of each real agent program to a person, through proxy, dial unit and local socket: an
 * MCP server that asks during a call, the program's own questions, and dialogs of its extensions.
 * The server and the model read what the person answered, and that the person declined.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type GatedEvent, withGatedProgram } from "tests/support/gated_program.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { echoServer, type ServerBehavior } from "tests/support/mcp_proxy.ts";
import { type RuntimeProgram, testPrograms } from "tests/support/runtime_programs.ts";

/** In the order of the names, because codex sorts them. */
const SCHEMA = {
  type: "object",
  properties: {
    colour: { type: "string", title: "Colour", enum: ["blue", "red"] },
    n: { type: "integer", minimum: 1, maximum: 9, default: 3 },
    note: { type: "string", description: "In one line" },
    sure: { type: "boolean" },
  },
  required: ["colour", "n"],
};

/** Asks a person in each call of `look`; the result of the call is the answer. */
const askingServer: ServerBehavior = async (message, connection) => {
  if (message.method === "tools/call" && message.params.name === "look") {
    return await connection.send({
      jsonrpc: "2.0",
      id: `ask-${message.id}`,
      method: "elicitation/create",
      params: { mode: "form", message: "Which colour?", requestedSchema: SCHEMA },
    });
  }
  const [, asked] = /^ask-(\d+)$/.exec(String(message.id)) ?? [];
  if (message.method !== undefined || asked === undefined) {
    return await echoServer(message, connection);
  }
  const text = JSON.stringify(message.result ?? message.error);
  await connection.send({
    jsonrpc: "2.0",
    id: Number(asked),
    result: { content: [{ type: "text", text }] },
  });
};

const kindsOf = (events: readonly GatedEvent[]) =>
  events.filter(({ kind }) => kind.startsWith("question_")).map(({ kind, payload }) =>
    `${kind} ${payload.action ?? payload.state ?? payload.mcp}`
  );

/** ACP does not say which MCP asks. */
const askerOf = ({ name }: RuntimeProgram) => name === "claude-agent-acp" ? null : "bench";

const ASKING = ["claude-code", "codex", "claude-agent-acp"];
testPrograms(ASKING, "lets an MCP server ask a person", async (program) => {
  await withGatedProgram(program, async ({ model, turnWith }) => {
    const script = () => {
      model.forget();
      model.script(
        { kind: "answer", calls: [{ tool: program.toolName("bench", "look"), arguments: {} }] },
        { kind: "answer", text: "done" },
      );
    };
    const read = () => sightOf(model.requests.at(-1)!).results.at(-1)?.text ?? "";
    script();
    const asked: GatedEvent["payload"][] = [];
    const events = await turnWith("look", {
      answer: (question) => {
        asked.push(question);
        return { action: "answered", values: { colour: "blue", n: 7 } };
      },
    });
    assert.deepEqual(asked.map(({ mcp, message }) => [mcp, message]), [
      [askerOf(program), "Which colour?"],
    ]);
    assert.deepEqual(asked[0].fields, [
      {
        name: "colour",
        title: "Colour",
        kind: "choice",
        required: true,
        options: [{ value: "blue", label: "blue" }, { value: "red", label: "red" }],
      },
      { name: "n", title: "n", kind: "integer", required: true, default: 3, min: 1, max: 9 },
      {
        name: "note",
        title: "note",
        description: "In one line",
        kind: "text",
        required: false,
      },
      { name: "sure", title: "sure", kind: "boolean", required: false },
    ]);
    assert.deepEqual(kindsOf(events), [
      `question_asked ${askerOf(program)}`,
      "question_answered answered",
      "question_ended delivered",
    ]);
    assert.match(read(), /"action":"accept"/);
    assert.match(read(), /"content":\{"colour":"blue","n":7\}/);

    script();
    const declined = await turnWith("look again", { answer: () => ({ action: "declined" }) });
    assert.equal(kindsOf(declined)[1], "question_answered declined");
    assert.match(read(), /"action":"decline"/);
  }, { behavior: askingServer });
});

testPrograms(ASKING, "withdraws its question with the turn, and continues", async (program) => {
  await withGatedProgram(program, async ({ model, turnWith, questionStates }) => {
    const script = () => {
      model.forget();
      model.script(
        { kind: "answer", calls: [{ tool: program.toolName("bench", "look"), arguments: {} }] },
        { kind: "answer", text: "done" },
      );
    };
    script();
    await turnWith("look", { answer: () => undefined });
    assert.deepEqual(await questionStates(), ["withdrawn"]);
    script();
    const answered = await turnWith("and again", { answer: () => ({ action: "declined" }) });
    assert.equal(kindsOf(answered).at(-1), "question_ended delivered");
  }, { behavior: askingServer });
});

const QUESTIONS = [
  {
    question: "Which drink?",
    header: "Drink",
    multiSelect: false,
    options: [{ label: "Tea", description: "hot" }, { label: "Coffee", description: "black" }],
  },
  {
    question: "Extras?",
    header: "Extras",
    multiSelect: true,
    options: [{ label: "Milk", description: "cold" }, { label: "Sugar", description: "white" }],
  },
];

/** The program's own names of the fields, and an answer with a text that is not an option. */
const ITSELF = {
  "claude-code": {
    titles: ["Which drink?", "Extras?"],
    values: { drink: "Mate", extras: ["Milk", "Sugar"] },
  },
  "claude-agent-acp": {
    titles: ["Drink", "Other", "Extras", "Other"],
    values: { question_0_custom: "Mate", question_1: ["Milk", "Sugar"] },
  },
} as const;

testPrograms(Object.keys(ITSELF), "asks a person itself", async (program) => {
  const { titles, values } = ITSELF[program.name as keyof typeof ITSELF];
  await withGatedProgram(program, async ({ model, turnWith }) => {
    const script = () => {
      model.forget();
      const call = { tool: "AskUserQuestion", arguments: { questions: QUESTIONS } };
      model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "done" });
    };
    const read = () => sightOf(model.requests.at(-1)!).results.at(-1)?.text ?? "";
    script();
    const events = await turnWith("ask me", {
      answer: ({ mcp, fields }) => {
        assert.equal(mcp, null);
        assert.deepEqual(fields.map(({ title }: { title: string }) => title), titles);
        return { action: "answered", values };
      },
    });
    assert.deepEqual(kindsOf(events), [
      "question_asked null",
      "question_answered answered",
      "question_ended delivered",
    ]);
    assert.match(read(), /"Which drink\?"="Mate"/);
    assert.match(read(), /"Extras\?"="Milk, Sugar"/);
    script();
    await turnWith("ask again", { answer: () => ({ action: "declined" }) });
    assert.match(read(), /declined|did not answer/i);
  });
});

/** An extension of pi with a tool that opens one dialog of each kind. */
const EXTENSION = `
export default function (pi) {
  pi.registerTool({
    name: "survey",
    label: "Survey",
    description: "Asks the person",
    parameters: { type: "object", properties: {} },
    async execute(id, params, signal, onUpdate, ctx) {
      const { ui } = ctx;
      const answers = [
        await ui.select("Which drink?", ["Tea", "Coffee"]),
        await ui.input("Which name?", "such as Ada"),
        await ui.editor("The plan", "1. look"),
        await ui.confirm("Send it?", "To the kitchen"),
      ];
      const text = JSON.stringify(answers.map((answer) => answer ?? null));
      return { content: [{ type: "text", text }], details: {} };
    },
  });
}
`;

testPrograms(["pi"], "lets an extension ask a person", async (program) => {
  await withGatedProgram(program, async ({ model, home, restart, turnWith }) => {
    await Deno.mkdir(`${home}/.pi/agent/extensions`, { recursive: true });
    await Deno.writeTextFile(`${home}/.pi/agent/extensions/survey.js`, EXTENSION);
    await restart();
    const script = () => {
      model.forget();
      model.script(
        { kind: "answer", calls: [{ tool: "survey", arguments: {} }] },
        { kind: "answer", text: "done" },
      );
    };
    const read = () => JSON.parse(sightOf(model.requests.at(-1)!).results.at(-1)?.text ?? "null");
    script();
    const given = ["Coffee", "Grace", "1. look\n2. write"];
    const titles: string[] = [];
    const decided: string[] = [];
    const events = await turnWith("survey me", {
      decide: () => ({ decision: "approved" }),
      answer: ({ fields: [field] }) => {
        titles.push(field.title);
        return { action: "answered", values: { answer: given[titles.length - 1] ?? "" } };
      },
    });
    for (const { kind, payload } of events) {
      if (kind === "approval_asked") decided.push(payload.tool);
    }
    assert.deepEqual(titles, ["Which drink?", "Which name?", "The plan"]);
    assert.deepEqual(decided, ["survey", "Send it?"]);
    assert.deepEqual(read(), [...given, true]);

    script();
    await turnWith("survey me again", {
      decide: () => ({ decision: "approved" }),
      answer: () => ({ action: "declined" }),
    });
    assert.deepEqual(read(), [null, null, null, true]);
  });
});

testPrograms(["pi"], "withdraws the question of an extension with the turn", async (program) => {
  await withGatedProgram(program, async ({ model, home, restart, turnWith, questionStates }) => {
    await Deno.mkdir(`${home}/.pi/agent/extensions`, { recursive: true });
    await Deno.writeTextFile(`${home}/.pi/agent/extensions/survey.js`, EXTENSION);
    await restart();
    model.script({ kind: "answer", calls: [{ tool: "survey", arguments: {} }] });
    const decide = () => ({ decision: "approved" }) as const;
    await turnWith("survey me", { decide, answer: () => undefined });
    assert.deepEqual(await questionStates(), ["withdrawn"]);
  });
});
