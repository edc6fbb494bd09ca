/**
 * What the conformance suite expects of a server: its tools, prompts and resources by name, with
 * the expected texts. Data and pure functions.
 *
 * @module
 */

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAA" +
  "BJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/** Returns a text block. */
export const text = (words: string): Json => ({ type: "text", text: words });
const image: Json = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri: string, mimeType: string, words: string): Json => ({
  type: "resource",
  resource: { uri, mimeType, text: words },
});

/** Tools with a constant answer. */
export const FIXED_TOOLS: Readonly<Record<string, Json>> = {
  test_simple_text: { content: [text("This is a simple text response for testing.")] },
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] },
  test_embedded_resource: {
    content: [
      embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
  },
  test_multiple_content_types: {
    content: [
      text("Multiple content types test:"),
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  },
  test_error_handling: {
    isError: true,
    content: [text("This tool intentionally returns an error for testing")],
  },
  test_streaming_elicitation: { content: [text("nothing is asked on the stream")] },
  test_logging_tool: { content: [text("no level was set, so nothing is logged")] },
};

const STRING = { type: "string" };

/** Arguments of the tools that accept some. */
const TOOL_ARGUMENTS: Readonly<Record<string, Json>> = {
  test_sampling: { prompt: STRING },
  test_elicitation: { message: STRING },
};

/** Names of all tools, in the order of the list. */
export const TOOL_NAMES: readonly string[] = [
  ...Object.keys(FIXED_TOOLS),
  "test_tool_with_logging",
  "test_tool_with_progress",
  "test_sampling",
  "test_elicitation",
  "test_elicitation_sep1034_defaults",
  "test_elicitation_sep1330_enums",
  "test_missing_capability",
  "test_trigger_tool_change",
  "test_trigger_prompt_change",
  "test_input_required_result_elicitation",
  "test_input_required_result_sampling",
  "test_input_required_result_list_roots",
  "test_input_required_result_request_state",
  "test_input_required_result_multiple_inputs",
  "test_input_required_result_multi_round",
  "test_input_required_result_tampered_state",
  "test_input_required_result_capabilities",
];

/** Definitions of all tools. */
export const TOOLS: readonly Json[] = TOOL_NAMES.map((name) => {
  const properties = TOOL_ARGUMENTS[name] ?? {};
  const inputSchema = { type: "object", properties, required: Object.keys(properties) };
  return { name, description: `Fixture of the suite: ${name}`, inputSchema };
});

/** Definitions of all prompts. */
export const PROMPTS: readonly Json[] = [
  { name: "test_simple_prompt", description: "Without arguments", arguments: [] },
  {
    name: "test_prompt_with_arguments",
    description: "With two arguments",
    arguments: ["arg1", "arg2"].map((name) => ({ name, description: name, required: true })),
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "With a resource",
    arguments: [{ name: "resourceUri", description: "URI", required: true }],
  },
  { name: "test_prompt_with_image", description: "With an image", arguments: [] },
  { name: "test_input_required_result_prompt", description: "Asks first", arguments: [] },
];

/** Returns the messages of a prompt; undefined for an unknown one. */
export function promptResult(name: unknown, given: Json): Json | undefined {
  const user = (...content: readonly Json[]) => ({
    messages: content.map((each) => ({ role: "user", content: each })),
  });
  switch (name) {
    case "test_simple_prompt":
      return user(text("This is a simple prompt for testing."));
    case "test_prompt_with_arguments":
      return user(
        text(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`),
      );
    case "test_prompt_with_embedded_resource":
      return user(
        embedded(String(given.resourceUri), "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      );
    case "test_prompt_with_image":
      return user(image, text("Please analyze the image above."));
    default:
      return undefined;
  }
}

/** Definitions of all resources. */
export const RESOURCES: readonly Json[] = [
  ["test://static-text", "Static text", "text/plain"],
  ["test://static-binary", "Static binary", "image/png"],
  ["test://watched-resource", "Watched resource", "text/plain"],
].map(([uri, name, mimeType]) => ({ uri, name, mimeType, description: `Fixture: ${name}` }));

/** Definitions of all resource templates. */
export const TEMPLATES: readonly Json[] = [{
  uriTemplate: "test://template/{id}/data",
  name: "Template",
  description: "Fixture: a template",
  mimeType: "application/json",
}];

/** Reads a resource; undefined for an unknown one. */
export function resourceResult(uri: unknown): Json | undefined {
  if (typeof uri !== "string") return undefined;
  const of = (content: Json) => ({ contents: [{ uri, ...content }] });
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return of({ mimeType: "application/json", text: JSON.stringify(data) });
  }
  switch (uri) {
    case "test://static-text":
      return of({
        mimeType: "text/plain",
        text: "This is the content of the static text resource.",
      });
    case "test://static-binary":
      return of({ mimeType: "image/png", blob: PNG });
    case "test://watched-resource":
      return of({ mimeType: "text/plain", text: "watched" });
    default:
      return undefined;
  }
}

/** Returns an elicitation that requests one text. */
export function textQuestion(message: string, ...names: readonly string[]): Json {
  const properties = Object.fromEntries(names.map((name) => [name, STRING]));
  return {
    method: "elicitation/create",
    params: { message, requestedSchema: { type: "object", properties, required: names } },
  };
}

/** Returns a sampling request for a model. */
export function sampling(words: string, maxTokens = 100): Json {
  const messages = [{ role: "user", content: text(words) }];
  return { method: "sampling/createMessage", params: { messages, maxTokens } };
}

const titled = (...titles: readonly string[]) =>
  titles.map((title, at) => ({ const: `value${at + 1}`, title }));
const OPTIONS = ["option1", "option2", "option3"];

/** Schemas of the two elicitation tools of the older revision. */
export const ELICITATIONS: Readonly<Record<string, Json>> = {
  test_elicitation_sep1034_defaults: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: "string", enum: OPTIONS },
    titledSingle: {
      type: "string",
      oneOf: titled("First Option", "Second Option", "Third Option"),
    },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
    titledMulti: {
      type: "array",
      items: { anyOf: titled("First Choice", "Second Choice", "Third Choice") },
    },
  },
};
