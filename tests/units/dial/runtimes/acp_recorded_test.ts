/**
 * Updates that real ACP programs sent in their turns, and the resulting transcript. The recordings
 * are unchanged except for folders, and for updates that are not part of a transcript.
 *
 * @module
 */

import { createTranslator } from "units/dial/runtimes/acp_updates.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { assertGolden } from "tests/support/golden.ts";

const FOLDER = new URL("./recorded/", import.meta.url);

for (const program of ["opencode", "claude-agent-acp"]) {
  Deno.test(`the updates of ${program} are calls with their last arguments`, async () => {
    const recorded = await Deno.readTextFile(new URL(`${program}.jsonl`, FOLDER));
    const printed: string[] = [];
    let translator = createTranslator("t", fakeClock(), ["lab"]);
    const print = (updates: readonly unknown[]) =>
      printed.push(...updates.map((update) => JSON.stringify(update)));
    for (const line of recorded.trimEnd().split("\n")) {
      const read = JSON.parse(line);
      if (read.turn !== undefined) {
        print(translator.finish());
        translator = createTranslator("t", fakeClock(), ["lab"]);
        printed.push(`# ${read.turn}`);
      } else print(translator.translate(read));
    }
    print(translator.finish());
    await assertGolden(`runtimes/${program}.txt`, `${printed.join("\n")}\n`);
  });
}
