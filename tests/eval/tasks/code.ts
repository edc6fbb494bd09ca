/**
 * Tasks about code: fix a bug, rename a function, repair a build.
 *
 * @module
 */

import { call, type EvalTask, firstChanged, say, shell, type TaskEnd } from "tests/eval/task.ts";

const TOTAL = `#!/bin/sh
# Prints the sum of the second column of a file.
sum=0
while read -r _ value; do
  sum=$((sum + value))
done < "$1"
echo "$sum"
`;
const TOTAL_TEST = `#!/bin/sh
printf 'a 1\\nb 2\\n' > in.txt
[ "$(sh total.sh in.txt)" = 3 ] || { echo "two lines: wrong"; exit 1; }
printf 'a 1\\nb 2\\nc 4' > in.txt
[ "$(sh total.sh in.txt)" = 7 ] || { echo "no line break at the end: wrong"; exit 1; }
: > in.txt
[ "$(sh total.sh in.txt)" = 0 ] || { echo "empty file: wrong"; exit 1; }
echo passed
`;

const fixBug: EvalTask = {
  name: "fix-bug",
  files: { "total.sh": TOTAL, "test.sh": TOTAL_TEST },
  prompts: ["`sh test.sh` fails. Find the bug in total.sh and fix it. Leave test.sh as it is."],
  script: [
    call("bash", { command: "sh test.sh" }),
    call("read", { path: "total.sh" }),
    call("edit", {
      path: "total.sh",
      old_text: "while read -r _ value; do",
      new_text: 'while read -r _ value || [ -n "$value" ]; do',
    }),
    call("bash", { command: "sh test.sh" }),
    say("Fixed: the last line was skipped when the file had no line break at its end."),
  ],
  mistake: {
    fault: /^test.sh was changed$/,
    script: [
      call("write", { path: "test.sh", content: "echo passed\n" }),
      say("Fixed."),
    ],
  },
  async check(done) {
    const changed = await firstChanged(done, { "test.sh": TOTAL_TEST });
    if (changed !== undefined) return changed;
    const output = await shell(done.workspace, "sh test.sh");
    return output === "passed" ? undefined : `the test prints: ${output}`;
  },
};

const MORNING = `. ./lib.sh
greet_user_count=1
greet_user "Good morning"
echo "$greet_user_count"
`;
const LIB = `# greet_user prints a greeting for $USER_NAME.
greet_user() {
  echo "$1, $USER_NAME"
}
`;

const rename: EvalTask = {
  name: "rename-function",
  files: {
    "lib.sh": LIB,
    "morning.sh": MORNING,
    "evening/run.sh": `. ./lib.sh\ngreet_user 'Good evening'\n`,
  },
  prompts: [
    "Rename the function greet_user to welcome everywhere. Other names must stay as they are.",
  ],
  script: [
    call("bash", { command: "grep -rn greet_user ." }),
    call("bash", { command: "sed -i -E 's/greet_user($|[^_])/welcome\\1/g' *.sh */*.sh" }),
    call("bash", { command: "grep -rn 'greet_user\\|welcome' ." }),
    say("Renamed in three files."),
  ],
  mistake: {
    fault: /^greet_user_count was renamed too$/,
    script: [
      call("bash", { command: "sed -i 's/greet_user/welcome/g' *.sh */*.sh" }),
      say("Renamed in three files."),
    ],
  },
  async check(done) {
    const all = await shell(done.workspace, "cat lib.sh morning.sh evening/run.sh");
    if (/\bgreet_user\b/.test(all)) return "a use of greet_user is left";
    if (!all.includes('echo "$greet_user_count"')) return "greet_user_count was renamed too";
    for (
      const [file, wanted] of [["morning.sh", "Good morning, ada\n1"], [
        "evening/run.sh",
        "Good evening, ada",
      ]]
    ) {
      const output = await shell(done.workspace, `USER_NAME=ada sh ./${file}`);
      if (output !== wanted) return `${file} prints: ${output}`;
    }
    return undefined;
  },
};

const BUILD = `#!/bin/sh
set -e
[ -f settings.env ] || { echo "settings.env is missing; see settings.example"; exit 1; }
. ./settings.env
[ -n "$CHANNEL" ] || { echo "CHANNEL is empty"; exit 1; }
echo "$(cat VERSION)-$CHANNEL" > out/version.txt
cat out/version.txt
`;
const BUILD_FILES = {
  "build.sh": BUILD,
  "VERSION": "4.2.0\n",
  "settings.example": "# Copy to settings.env. CHANNEL is stable or beta.\nCHANNEL=\n",
};

const repairBuild: EvalTask = {
  name: "repair-build",
  files: BUILD_FILES,
  prompts: [
    "`sh build.sh` does not run. Make it run for the channel beta without changing build.sh, " +
    "and tell me the version that it prints.",
  ],
  script: [
    call("bash", { command: "sh build.sh" }),
    call("read", { path: "settings.example" }),
    call("write", { path: "settings.env", content: "CHANNEL=beta\n" }),
    call("bash", { command: "sh build.sh" }),
    call("bash", { command: "mkdir -p out && sh build.sh" }),
    say("It runs now and prints 4.2.0-beta."),
  ],
  mistake: {
    fault: /^out\/version.txt contains: nothing$/,
    script: [
      call("bash", { command: "sh build.sh" }),
      say("It runs now and prints 4.2.0-beta."),
    ],
  },
  async check(done: TaskEnd) {
    const changed = await firstChanged(done, BUILD_FILES);
    if (changed !== undefined) return changed;
    const built = await done.read("out/version.txt");
    if (built?.trimEnd() !== "4.2.0-beta") return `out/version.txt contains: ${built ?? "nothing"}`;
    return done.answer.includes("4.2.0-beta") ? undefined : "the answer does not name the version";
  },
};

/** The tasks. */
export const CODE_TASKS: readonly EvalTask[] = [fixBug, rename, repairBuild];
