/**
 * What a test run counts: the tests of each job, read from its JUnit report.
 *
 * @module
 */

/** Counts of a run or a job. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Reads the totals of a JUnit report. */
export function readJunit(xml: string): Counts {
  const head = /<testsuites[^>]*>/.exec(xml)?.[0] ?? "";
  const number = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? "0");
  const skipped = (xml.match(/<skipped\s*\/?>/g) ?? []).length;
  const failed = number("failures") + number("errors");
  return { passed: number("tests") - failed - skipped, failed, skipped };
}

/**
 * Counts the tests of a job. A job counts as failed when an error is outside a test, when it dies
 * before its report, or when no test runs. A step without a report counts as one test.
 */
export function countJob(isOk: boolean, xml: string | undefined): Counts {
  if (xml === undefined) return { passed: isOk ? 1 : 0, failed: isOk ? 0 : 1, skipped: 0 };
  const counts = readJunit(xml);
  const isFailed = !isOk || counts.passed + counts.skipped === 0;
  if (isFailed && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** Returns the last line of a run. */
export function totalLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** A passed test and the header of a file, as Deno's reporter prints them. */
const PASSED = /( \.\.\. ok \([^)]*\)|^running \d+ tests? from \S+)$/;

/** Returns the output of a failed job without the lines of passed tests. */
export function failureText(output: string): string {
  return output.split("\n").filter((line) => !PASSED.test(line)).join("\n").trim();
}
