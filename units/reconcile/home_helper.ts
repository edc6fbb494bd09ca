/**
 * `HomeFiles` of agents with accounts of their own: one long-running helper for all homes that a
 * verb works on. The helper (`home_helper.pl`) is a program with one thread, because libc changes
 * the uid of all threads, and Deno's file calls run on several. ADR 0018 says why it is Perl.
 *
 * Each home has a bound on the time that it may take. A home that is over it fails, and the helper
 * is started anew for the others.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import { FileFault } from "core/ports/files.ts";
import type { Child, Processes } from "core/ports/processes.ts";
import type { User } from "core/ports/users.ts";
import { byteLength } from "core/text/cut_text.ts";
import type { HomeFiles, Homes } from "units/reconcile/home_files.ts";
import program from "units/reconcile/home_helper.pl" with { type: "text" };

/** What the helper is started with. */
export interface HomePorts {
  readonly processes: Pick<Processes, "spawn">;
  readonly clock: Pick<Clock, "after" | "monotonic" | "sleep">;
}

type Operation = "read" | "write" | "mode" | "folder" | "is-filled";

interface Request {
  readonly operation: Operation;
  readonly path: string;
  readonly mode?: number;
  readonly text?: string;
}

interface Answer {
  readonly code: string;
  readonly mode: number;
  readonly text: string;
}

/** In Debian's essential set, so on every host. */
const PERL = "/usr/bin/perl";
const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C" } as const;
const STDERR_LENGTH_MAX = 4_096;
/** A killed helper that waits for a disk ends when the disk answers, and no verb waits for that. */
const END_MS_MAX = 500;
/**
 * On a busy host this process may be late itself: an answer that has come by then is read first.
 */
const GRACE_MS = 50;
/** What a caller of `HomeFiles` is told of a file that is no plain one. */
const CODE_OF_KIND: Readonly<Record<string, string>> = { link: "ELOOP", folder: "EISDIR" };
const NO_FOLDER = "a folder on the way is a link or a file, must be a folder";

/** Opens the homes; nothing is started before the first request. */
export function openHomeHelper(ports: HomePorts, homeMsMax: number): Homes {
  const { clock } = ports;
  let helper: Helper | undefined;
  /** The requests of all homes, one after the other. */
  let queue: Promise<unknown> = Promise.resolve();
  const usedMs = new Map<number, number>();
  const ends: Promise<void>[] = [];

  const tooSlow = (path: string) =>
    new FileFault("EIO", path, `the home took longer than ${homeMsMax} ms, must be quicker`);

  async function askNow(of: Home, request: Request): Promise<Answer> {
    const { uid } = of.user;
    const leftMs = homeMsMax - (usedMs.get(uid) ?? 0);
    if (leftMs <= 0) throw tooSlow(request.path);
    helper ??= await startHelper(ports);
    const current = helper;
    const began = clock.monotonic();
    let isLate = false;
    let cancel = clock.after(leftMs, () => {
      cancel = clock.after(GRACE_MS, () => {
        isLate = true;
        current.kill();
      });
    });
    try {
      return await current.ask(bytesOf(of, request), request.path);
    } catch (thrown) {
      helper = undefined;
      current.kill();
      ends.push(current.close());
      throw isLate ? tooSlow(request.path) : thrown;
    } finally {
      cancel();
      usedMs.set(uid, (usedMs.get(uid) ?? 0) + (isLate ? leftMs : clock.monotonic() - began));
    }
  }

  return {
    of: (user, folder) =>
      homeFiles(async (request) => {
        const turn = queue.then(() => askNow({ user, folder }, request));
        queue = turn.catch(() => {});
        return usable(await turn, request);
      }),
    close: async () => {
      await queue;
      if (helper !== undefined) ends.push(helper.close());
      helper = undefined;
      const stop = new AbortController();
      await Promise.race([Promise.all(ends), clock.sleep(END_MS_MAX, stop.signal)]);
      stop.abort();
    },
  };
}

interface Home {
  readonly user: User;
  readonly folder: string;
}

/** Undefined stands for a file or folder that is not there. */
type Ask = (request: Request) => Promise<Answer | undefined>;

function homeFiles(ask: Ask): HomeFiles {
  return {
    read: async (path) => {
      const answer = await ask({ operation: "read", path });
      return answer === undefined ? undefined : { text: answer.text, mode: answer.mode };
    },
    write: async (path, text, mode) => {
      if (await ask({ operation: "write", path, text, mode }) === undefined) throw missing(path);
    },
    folderMode: async (path) => (await ask({ operation: "mode", path }))?.mode,
    ensureFolder: async (path, mode) => {
      if (await ask({ operation: "folder", path, mode }) === undefined) throw missing(path);
    },
    isFilled: async (path) => (await ask({ operation: "is-filled", path }))?.mode === 1,
  };
}

function missing(path: string): FileFault {
  return new FileFault("ENOENT", path, "the home is not there");
}

/** Turns the helper's words into what the port promises. */
function usable(answer: Answer, { operation, path }: Request): Answer | undefined {
  const { code, text } = answer;
  if (code === "ok") return answer;
  if (code === "absent") return undefined;
  if (code === "kind") {
    throw new FileFault(CODE_OF_KIND[text] ?? "EIO", path, `it is a ${text}, must be a plain file`);
  }
  const isFolderLook = operation === "mode" || operation === "is-filled";
  if (code === "ENOTDIR" && isFolderLook) return undefined;
  // What a quota refuses is the same to a caller as a disk that is full.
  throw new FileFault(
    code === "EDQUOT" ? "ENOSPC" : code,
    path,
    code === "ENOTDIR" ? NO_FOLDER : text,
  );
}

/** A request as the helper reads it. */
function bytesOf({ user, folder }: Home, request: Request): Uint8Array {
  const { operation, path, mode = 0, text = "" } = request;
  const isInside = path.startsWith(`${folder}/`);
  const base = isInside ? folder : "/";
  const parts = [user.name, base, path.slice(isInside ? folder.length + 1 : 1), text];
  const lengths = parts.map((part) => byteLength(part));
  const header = [operation, user.uid, user.gid, mode.toString(8), ...lengths].join(" ");
  return new TextEncoder().encode(`${header}\n${parts.join("")}`);
}

interface Helper {
  ask(request: Uint8Array, path: string): Promise<Answer>;
  kill(): void;
  close(): Promise<void>;
}

async function startHelper({ processes }: HomePorts): Promise<Helper> {
  const child = await processes.spawn({
    command: PERL,
    args: ["-e", program],
    env: ENV,
    cwd: "/",
  });
  const said = tailOf(child.stderr);
  const writer = child.stdin.getWriter();
  const answers = readerOf(child);
  return {
    ask: async (request, path) => {
      try {
        await writer.write(request);
        const header = await answers.line();
        const [, code = "", mode = "", length = ""] = /^(\S+) ([0-7]+) (\d+)$/.exec(header) ?? [];
        const bytes = await answers.bytes(Number(length));
        return { code, mode: parseInt(mode, 8), text: new TextDecoder().decode(bytes) };
      } catch {
        const words = (await said).trim().split("\n").at(-1);
        throw new FileFault(
          "EIO",
          path,
          `the helper for homes ended: ${words || "without a word"}`,
        );
      }
    },
    kill: () => child.kill("SIGKILL"),
    close: async () => {
      await writer.close().catch(() => {});
      await child.exited;
      await said;
      await answers.close();
    },
  };
}

/** The end of what a program says, once it has ended. */
async function tailOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text = (text + decoder.decode(chunk, { stream: true })).slice(-STDERR_LENGTH_MAX);
  }
  return text;
}

/** Reads lines and counted bytes from a child's output; rejects at its end. */
function readerOf({ stdout }: Child) {
  const reader = stdout.getReader();
  let rest: Uint8Array = new Uint8Array();
  const more = async () => {
    const { done, value } = await reader.read();
    if (done) throw new Error("the output ended");
    const joined = new Uint8Array(rest.length + value.length);
    joined.set(rest);
    joined.set(value, rest.length);
    rest = joined;
  };
  const take = (length: number) => {
    const taken = rest.subarray(0, length);
    rest = rest.subarray(length);
    return taken;
  };
  return {
    line: async () => {
      while (!rest.includes(10)) await more();
      return new TextDecoder().decode(take(rest.indexOf(10) + 1)).slice(0, -1);
    },
    bytes: async (length: number) => {
      while (rest.length < length) await more();
      return take(length);
    },
    close: () => reader.cancel(),
  };
}
