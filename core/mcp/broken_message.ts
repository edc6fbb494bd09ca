/**
 * Distinguishes a broken JSON-RPC message from other output of an MCP server. Servers print banners
 * and log lines on stdout, which are skipped. A broken message must end the pending call, because
 * no other answer will come. No I/O.
 *
 * @module
 */

const OPEN_OBJECT = 0x7b;
/** Blanks, NUL bytes of UTF-16, and the bytes of a byte order mark in UTF-8 or UTF-16. */
const LEADING = new Set([0x00, 0x09, 0x0d, 0x20, 0xef, 0xbb, 0xbf, 0xfe, 0xff]);

/** Returns the fault of a broken message; undefined for a valid one and for other output. */
export function brokenMessage(line: Uint8Array): string | undefined {
  const first = line.findIndex((byte) => !LEADING.has(byte));
  if (first === -1 || line[first] !== OPEN_OBJECT) return undefined;
  const text = new TextDecoder().decode(line);
  if (!mentionsProtocol(text)) return undefined;
  return isUtf8(line) ? brokenText(text) : "it is not UTF-8";
}

/** The same for a line that is already decoded. */
export function brokenText(line: string): string | undefined {
  if (!/^[\s\0\ufeff]*\{/.test(line) || !mentionsProtocol(line)) return undefined;
  try {
    JSON.parse(line);
    return undefined;
  } catch {
    return "it is not JSON";
  }
}

function mentionsProtocol(text: string): boolean {
  return text.replaceAll("\0", "").includes('"jsonrpc"');
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
