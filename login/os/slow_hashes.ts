/**
 * Computes slow password hashes in workers, so that a login does not block other requests. Workers
 * run the library's source from memory, so a bundle needs no extra files. They start on demand, run
 * at low priority, and are replaced on failure or at their memory limit. No queue: the caller
 * limits concurrency.
 *
 * @module
 */

import argon2 from "hash-wasm/dist/argon2.umd.min.js" with { type: "text" };
import bcrypt from "hash-wasm/dist/bcrypt.umd.min.js" with { type: "text" };
import scrypt from "hash-wasm/dist/scrypt.umd.min.js" with { type: "text" };
import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { ScryptJob, SlowHashes } from "core/login/password.ts";

/** The hashes, computed on worker threads. */
export interface HashThreads extends SlowHashes {
  /** How many may run concurrently without starving other work. */
  readonly atOnce: number;
  /** Stops the threads; pending hashes fail. */
  close(): void;
}

/**
 * The worker's program: runs jobs in order and answers by job number. It lowers its priority, so
 * that password guessing does not starve other requests. Not to the lowest, so that logins work on
 * a busy host. If that is refused it keeps its priority. On Linux 0 means the calling thread.
 */
const LOOP = `
import { setPriority } from "node:os";
try {
  setPriority(0, 10);
} catch {
  // Not permitted.
}
self.onmessage = async ({ data: { number, name, job } }) => {
  try {
    const options = name === "bcryptVerify" ? job : { ...job, outputType: "binary" };
    const made = await self.hashwasm[name](options);
    self.postMessage({ number, made });
  } catch (thrown) {
    self.postMessage({ number, fault: String(thrown) });
  }
};
`;
const PROGRAM = [argon2, bcrypt, scrypt, LOOP] as unknown as readonly string[];

/**
 * KiB that one worker may allocate in total. The library allocates memory for each hash, and the
 * garbage collector keeps that of about ten. Only stopping the thread frees it at once.
 */
const THREAD_KIB_MAX = 128 * 1024;

interface Thread {
  readonly worker: Worker;
  /** Memory that its hashes have allocated so far. */
  takenKib: number;
  readonly jobs: Map<number, PromiseWithResolvers<unknown>>;
}

/** One page of WebAssembly. */
const BCRYPT_KIB = 64;
/** RFC 7914, section 6: 128 bytes for each cost and block. */
const kibOf = ({ costFactor, blockSize }: ScryptJob) => costFactor * blockSize / 8;

/** Returns hashes that are computed on this machine's threads. */
export function systemHashThreads(
  atOnce: number = Math.max(
    1,
    Math.min(LOGIN_LIMITS.concurrentChecksMax, navigator.hardwareConcurrency - 1),
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
