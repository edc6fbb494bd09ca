/**
 * Tools of the fixture that first need input from the client. In the newer revision this replaces
 * requests from server to client. Test code.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type Json, sampling, text, textQuestion } from "tests/support/conformance/content.ts";

/** The client's answer cannot be used. */
export class InputFault extends Error {}

const KEY = crypto.getRandomValues(new Uint8Array(32));

async function mac(of: string): Promise<string> {
  const key = await crypto.subtle.importKey("raw", KEY, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const signed = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(of));
  return new Uint8Array(signed).toHex();
}

/** Returns state that the client carries and cannot change. */
async function sealed(state: string): Promise<string> {
  return `${state}.${await mac(state)}`;
}

async function opened(state: unknown): Promise<string> {
  const [words = "", seal = ""] = String(state).split(".");
  if (seal !== await mac(words)) throw new InputFault("requestState was tampered with");
  return words;
}

const ROOTS: Json = { method: "roots/list", params: {} };
const CONFIRM: Json = {
  method: "elicitation/create",
  params: {
    message: "Please confirm",
    requestedSchema: {
      type: "object",
      properties: { ok: { type: "boolean" } },
      required: ["ok"],
    },
  },
};

function needs(inputRequests: Json, requestState?: string): Json {
  return { resultType: "input_required", inputRequests, ...defined({ requestState }) };
}

function done(words: string): Json {
  return { content: [text(words)] };
}

/** Returns the usable answers by key; an unusable answer counts as missing. */
function answersOf(params: Json): Readonly<Record<string, Json>> {
  const given = params.inputResponses;
  if (given === undefined) return {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new InputFault("inputResponses is not an object");
  }
  return Object.fromEntries(
    Object.entries(given).filter(([, each]) => typeof each === "object" && each !== null),
  );
}

/** Returns the content of an accepted elicitation; otherwise undefined. */
function accepted(answer: Json | undefined): Json | undefined {
  const { action, content } = answer ?? {};
  return action === "accept" && typeof content === "object" && content !== null
    ? content as Json
    : undefined;
}

/** Answers a tool that needs input; undefined for every other tool. */
export async function answerInput(
  name: string,
  params: Json,
  capabilities: Json,
): Promise<Json | undefined> {
  if (!name.startsWith("test_input_required_result_")) return undefined;
  const given = answersOf(params);
  switch (name.slice("test_input_required_result_".length)) {
    case "elicitation": {
      const answered = accepted(given.user_name)?.name;
      return typeof answered === "string"
        ? done(`Hello, ${answered}!`)
        : needs({ user_name: textQuestion("What is your name?", "name") });
    }
    case "sampling": {
      const content = given.capital_question?.content as Json | undefined;
      return typeof content?.text === "string"
        ? done(content.text)
        : needs({ capital_question: sampling("What is the capital of France?") });
    }
    case "list_roots": {
      const roots = given.client_roots?.roots;
      return Array.isArray(roots)
        ? done(`Roots: ${roots.map((root: Json) => root.uri).join(", ")}`)
        : needs({ client_roots: ROOTS });
    }
    case "request_state":
    case "tampered_state": {
      if (params.requestState === undefined) {
        return needs({ confirm: CONFIRM }, await sealed("asked"));
      }
      await opened(params.requestState);
      return given.confirm === undefined
        ? needs({ confirm: CONFIRM }, await sealed("asked"))
        : done("state-ok");
    }
    case "multiple_inputs": {
      if (given.user_name && given.greeting && given.client_roots) {
        await opened(params.requestState);
        return done("All inputs are there");
      }
      return needs({
        user_name: textQuestion("What is your name?", "name"),
        greeting: sampling("Generate a greeting", 50),
        client_roots: ROOTS,
      }, await sealed("several"));
    }
    case "multi_round":
      return await rounds(params, given);
    case "capabilities":
      return needs({
        ...(capabilities.elicitation === undefined
          ? {}
          : { user_name: textQuestion("What is your name?", "name") }),
        ...(capabilities.sampling === undefined ? {} : { greeting: sampling("Greet", 50) }),
        ...(capabilities.roots === undefined ? {} : { client_roots: ROOTS }),
      });
    default:
      return undefined;
  }
}

async function rounds(params: Json, given: Readonly<Record<string, Json>>): Promise<Json> {
  const first = () => textQuestion("Step 1: What is your name?", "name");
  if (params.requestState === undefined) {
    return needs({ step1: first() }, await sealed("one"));
  }
  const round = await opened(params.requestState);
  if (round === "one" && given.step1 !== undefined) {
    const second = textQuestion("Step 2: What is your favorite color?", "color");
    return needs({ step2: second }, await sealed("two"));
  }
  return round === "two" && given.step2 !== undefined
    ? done("Both steps are done")
    : needs({ step1: first() }, await sealed("one"));
}

/** Answers the prompt that first needs input. */
export function promptInput(params: Json): Json {
  const context = accepted(answersOf(params).user_context)?.context;
  if (typeof context !== "string") {
    const question = textQuestion("What context should the prompt use?", "context");
    return needs({ user_context: question });
  }
  return { messages: [{ role: "user", content: text(`Use this context: ${context}`) }] };
}
