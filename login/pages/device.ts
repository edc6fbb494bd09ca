/**
 * Names the program and system of a `User-Agent`, so that users recognize their devices. The header
 * is only a claim; unknown names are not shown.
 *
 * @module
 */

/** Order matters: most browsers also name the browsers that they imitate. */
const PROGRAMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\bHeadlessChrome\//, "Headless Chrome"],
  [/\b(?:Chrome|CriOS)\//, "Chrome"],
  [/\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//, "Safari"],
  [/^curl\//, "curl"],
];
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

/** Returns a name such as "Firefox on Linux"; "Unknown device" if nothing is recognized. */
export function deviceName(userAgent: string): string {
  const find = (table: typeof PROGRAMS) => table.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [program, system] = [find(PROGRAMS), find(SYSTEMS)];
  if (program === undefined) {
    return system === undefined ? "Unknown device" : `A program on ${system}`;
  }
  return system === undefined ? program : `${program} on ${system}`;
}
