/**
 * A task that is longer than the model's window.
 *
 * @module
 */

import type { ModelRequest } from "tests/fakes/model_endpoint.ts";
import { call, type EvalTask, say, type ScriptStep } from "tests/eval/task.ts";

const PARTS = 8;
const WINDOW_TOKENS = 12_000;
const KEYS = Array.from({ length: PARTS }, (_, n) => `${"kqvxzjwy"[n]}${(n + 3) * 17}`);

/** About 2,000 tokens each, with one key in the middle. */
function partFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(KEYS.map((key, n) => {
    const lines = Array.from(
      { length: 120 },
      (_, at) =>
        at === 60 ? `The key of this part is ${key}.` : `Line ${at} of part ${n + 1} tells little.`,
    );
    return [`parts/part-${n + 1}.txt`, `${lines.join("\n")}\n`];
  }));
}

/** Reads all parts, and notes each key at once. */
function readAndNote(): readonly ScriptStep[] {
  return KEYS.flatMap((_, n): readonly ScriptStep[] => [
    call("read", { path: `parts/part-${n + 1}.txt` }),
    (request) => call("bash", { command: `printf '%s\\n' '${lastKey(request)}' >> found.txt` }),
  ]);
}

/** Returns the last key that the model can see. */
function lastKey({ body }: ModelRequest): string {
  const seen = [...JSON.stringify(body).matchAll(/The key of this part is (\w+)/g)];
  return seen.at(-1)?.[1] ?? "none";
}

const longContext: EvalTask = {
  name: "long-context",
  files: partFiles(),
  env: { FLEETCTL_CONTEXT_TOKENS: String(WINDOW_TOKENS), FLEETCTL_OUTPUT_TOKENS: "1000" },
  prompts: [
    "Read each file parts/part-1.txt to parts/part-8.txt with the tool read; each has a key. " +
    "Write the keys to keys.txt in the order of the parts, joined by -. They do not fit " +
    "into your window, so note what you find.",
  ],
  script: [
    ...readAndNote(),
    call("bash", { command: "paste -sd- found.txt > keys.txt" }),
    say("keys.txt has the eight keys."),
  ],
  mistake: {
    fault: /^keys.txt contains: /,
    script: [
      ...KEYS.map((_, n) => call("read", { path: `parts/part-${n + 1}.txt` })),
      ({ body }) => {
        const seen = [...JSON.stringify(body).matchAll(/The key of this part is (\w+)/g)];
        return call("write", { path: "keys.txt", content: seen.map(([, key]) => key).join("-") });
      },
      say("keys.txt has the eight keys."),
    ],
  },
  async check(done) {
    const found = (await done.read("keys.txt"))?.trimEnd();
    if (found !== KEYS.join("-")) return `keys.txt contains: ${found ?? "nothing"}`;
    const sizes = (done.requests ?? []).map(({ body }) => JSON.stringify(body).length / 4);
    const largest = Math.max(0, ...sizes);
    return largest > WINDOW_TOKENS
      ? `a request had about ${Math.round(largest)} tokens, more than the window`
      : undefined;
  },
};

/** The tasks. */
export const LONG_TASKS: readonly EvalTask[] = [longContext];
