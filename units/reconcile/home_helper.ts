/**
 * Implements `HomeFiles` for agents with their own accounts: one long-running helper for all homes
 * that a verb works on. The helper (`home_helper.pl`) has one thread. Deno's file calls run on
 * several threads, and libc changes the uid of all of them. ADR 0018 explains the choice of Perl.
 *
 * Each home has a time limit. A home that exceeds it fails, and the helper is restarted for the
 * others.
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

/** Dependencies of the helper. */
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

/** Part of Debian's essential set, so every host has it. */
const PERL = "/usr/bin/perl";
const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C" } as const;
const STDERR_LENGTH_MAX = 4_096;
/** A killed helper that waits for a disk ends when the disk answers; no verb waits for that. */
const END_MS_MAX = 500;
/** On a busy host this process may itself be late, so an answer that has arrived is still read. */
const GRACE_MS = 50;
/** Error codes for callers of `HomeFiles` when a file is not a regular one. */
const CODE_OF_KIND: Readonly<Record<string, string>> = { link: "ELOOP", folder: "EISDIR" };
const NO_FOLDER = "a parent folder is a link or a file, must be a folder";

/** Opens the homes; the helper starts with the first request. */
export function openHomeHelper(ports: HomePorts, homeMsMax: number): Homes {
  const { clock } = ports;
  let helper: Helper | undefined;
  /** Requests of all homes, executed one after another. */
  let queue: Promise<unknown> = Promise.resolve();
  const usedMs = new Map<number, number>();
  const ends: Promise<void>[] = [];

  const tooSlow = (path: string) =>
    new FileFault("EIO", path, `the home took longer than ${homeMsMax} ms, must answer sooner`);

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

/** Resolves with undefined when the file or folder does not exist. */
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
  return new FileFault("ENOENT", path, "the home does not exist");
}

/** Converts the helper's answer into the result or the fault that the port defines. */
function usable(answer: Answer, { operation, path }: Request): Answer | undefined {
  const { code, text } = answer;
  if (code === "ok") return answer;
  if (code === "absent") return undefined;
  if (code === "kind") {
    throw new FileFault(CODE_OF_KIND[text] ?? "EIO", path, `it is a ${text}, must be a plain file`);
  }
  const isFolderQuery = operation === "mode" || operation === "is-filled";
  if (code === "ENOTDIR" && isFolderQuery) return undefined;
  // For a caller, an exceeded quota is the same as a full disk.
  throw new FileFault(
    code === "EDQUOT" ? "ENOSPC" : code,
    path,
    code === "ENOTDIR" ? NO_FOLDER : text,
  );
}

/** Encodes a request for the helper. */
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
  const stderr = tailOf(child.stderr);
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
        const lastLine = (await stderr).trim().split("\n").at(-1);
        throw new FileFault(
          "EIO",
          path,
          `the helper for homes ended: ${lastLine || "without output"}`,
        );
      }
    },
    kill: () => child.kill("SIGKILL"),
    close: async () => {
      await writer.close().catch(() => {});
      await child.exited;
      await stderr;
      await answers.close();
    },
  };
}

/** Returns the end of a program's output, after the program has ended. */
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
