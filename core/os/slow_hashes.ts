/**
 * Computes slow password hashes beside the thread that serves, so that a login keeps nobody else
 * waiting. The workers run the library's own files from memory: a bundle needs nothing outside itself
 * for them. They start with the first hash, yield to it, and one that fails is replaced. No queue: whoever
 * asks bounds.
 *
 * @module
 */

import argon2 from "hash-wasm/dist/argon2.umd.min.js" with { type: "text" };
import bcrypt from "hash-wasm/dist/bcrypt.umd.min.js" with { type: "text" };
import scrypt from "hash-wasm/dist/scrypt.umd.min.js" with { type: "text" };
import { LOGIN_LIMITS } from "core/limits.ts";
import type { SlowHashes } from "core/password.ts";

/** The hashes, on threads of their own. */
export interface HashThreads extends SlowHashes {
  /** How many at once leave the machine time for everything else. */
  readonly atOnce: number;
  /** Ends the threads; what they compute fails. */
  close(): void;
}

/**
 * What a worker does: one job after the other, answered by its number. Its thread yields to the one that
 * serves, so that who guesses passwords takes little of what others need; not to the last, or nobody
 * could log in to a host that is busy. Where that is not granted it works as it is. On Linux a
 * priority is that of one thread, and 0 names the own.
 */
const LOOP = `
import { setPriority } from "node:os";
try {
  setPriority(0, 10);
} catch {
  // Not granted.
}
self.onmessage = async ({ data: { number, name, job } }) => {
  try {
    const made = await self.hashwasm[name](name === "bcryptVerify" ? job : { ...job, outputType: "binary" });
    self.postMessage({ number, made });
  } catch (thrown) {
    self.postMessage({ number, fault: String(thrown) });
  }
};
`;
const PROGRAM = [argon2, bcrypt, scrypt, LOOP] as unknown as readonly string[];

interface Thread {
  readonly worker: Worker;
  readonly jobs: Map<number, PromiseWithResolvers<unknown>>;
}

/** Returns the hashes of this machine. */
export function systemHashThreads(
  atOnce: number = Math.max(
    1,
    Math.min(LOGIN_LIMITS.checksAtOnceMax, navigator.hardwareConcurrency - 1),
  ),
): HashThreads {
  const threads: Thread[] = [];
  let number = 0;
  const drop = (thread: Thread, why: string) => {
    const at = threads.indexOf(thread);
    if (at !== -1) threads.splice(at, 1);
    thread.worker.terminate();
    for (const job of thread.jobs.values()) job.reject(new Error(why));
    thread.jobs.clear();
  };
  const start = (): Thread => {
    const program = URL.createObjectURL(
      new Blob([PROGRAM.join("\n;\n")], { type: "text/javascript" }),
    );
    const worker = new Worker(program, { type: "module" });
    const thread: Thread = { worker, jobs: new Map() };
    worker.onmessage = ({ data }) => {
      const job = thread.jobs.get(data.number);
      thread.jobs.delete(data.number);
      if (data.fault === undefined) job?.resolve(data.made);
      else job?.reject(new Error(data.fault));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      drop(thread, `the hash could not be computed: ${event.message}`);
    };
    threads.push(thread);
    return thread;
  };
  const run = async (name: keyof SlowHashes, job: unknown): Promise<unknown> => {
    const idle = threads.find(({ jobs }) => jobs.size === 0);
    const thread = idle ?? (threads.length < atOnce ? start() : threads[number % atOnce]);
    if (thread === undefined) throw new Error("there is no thread for hashes");
    const made = Promise.withResolvers<unknown>();
    thread.jobs.set(++number, made);
    thread.worker.postMessage({ number, name, job });
    return await made.promise;
  };
  return {
    atOnce,
    argon2id: async (job) => await run("argon2id", job) as Uint8Array,
    scrypt: async (job) => await run("scrypt", job) as Uint8Array,
    bcryptVerify: async (job) => await run("bcryptVerify", job) as boolean,
    close: () => {
      for (const thread of [...threads]) drop(thread, "the program ends");
    },
  };
}
