/**
 * Computes slow password hashes beside the thread that serves, so that a login keeps nobody else
 * waiting. The workers run the library's own files from memory: a bundle needs nothing outside itself
 * for them. They start with the first hash, yield to it, and one that fails, or has taken its share of
 * memory, is replaced. No queue: whoever asks bounds.
 *
 * @module
 */

import argon2 from "hash-wasm/dist/argon2.umd.min.js" with { type: "text" };
import bcrypt from "hash-wasm/dist/bcrypt.umd.min.js" with { type: "text" };
import scrypt from "hash-wasm/dist/scrypt.umd.min.js" with { type: "text" };
import { LOGIN_LIMITS } from "core/limits.ts";
import type { ScryptJob, SlowHashes } from "core/password.ts";

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

/**
 * KiB that one worker may take in all. The library takes memory anew for each hash, and the collector
 * lets ten hashes of it lie; only the end of the thread gives it back at once.
 */
const THREAD_KIB_MAX = 128 * 1024;

interface Thread {
  readonly worker: Worker;
  /** Memory that its hashes have taken so far. */
  takenKib: number;
  readonly jobs: Map<number, PromiseWithResolvers<unknown>>;
}

/** A page of WebAssembly. */
const BCRYPT_KIB = 64;
/** RFC 7914, section 6: 128 bytes for each cost and block. */
const kibOf = ({ costFactor, blockSize }: ScryptJob) => costFactor * blockSize / 8;

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
    const thread: Thread = { worker, takenKib: 0, jobs: new Map() };
    worker.onmessage = ({ data }) => {
      const job = thread.jobs.get(data.number);
      thread.jobs.delete(data.number);
      if (data.fault === undefined) job?.resolve(data.made);
      else job?.reject(new Error(data.fault));
      if (thread.takenKib >= THREAD_KIB_MAX && thread.jobs.size === 0) {
        drop(thread, "its thread has ended");
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      drop(thread, `the hash could not be computed: ${event.message}`);
    };
    threads.push(thread);
    return thread;
  };
  const run = async (name: keyof SlowHashes, job: unknown, kib: number): Promise<unknown> => {
    const idle = threads.find(({ jobs }) => jobs.size === 0);
    const thread = idle ?? (threads.length < atOnce ? start() : threads[number % atOnce]);
    if (thread === undefined) throw new Error("there is no thread for hashes");
    const made = Promise.withResolvers<unknown>();
    thread.jobs.set(++number, made);
    thread.takenKib += kib;
    thread.worker.postMessage({ number, name, job });
    return await made.promise;
  };
  return {
    atOnce,
    argon2id: async (job) => await run("argon2id", job, job.memorySize) as Uint8Array,
    scrypt: async (job) => await run("scrypt", job, kibOf(job)) as Uint8Array,
    bcryptVerify: async (job) => await run("bcryptVerify", job, BCRYPT_KIB) as boolean,
    close: () => {
      for (const thread of [...threads]) drop(thread, "the program ends");
    },
  };
}
