/**
 * A host's own unit in a test: it registers with an enrolled key at a real gateway, accepts jobs,
 * and answers them when the test says so.
 *
 * @module
 */

import { DIAL_SUBPROTOCOL, dialProofText } from "core/dial/frames.ts";
import { hostSession } from "core/dial/host_job.ts";
import { type DialKey, generateDialKey, signProof } from "core/dial/proof.ts";
import { pathsUnder } from "core/paths.ts";
import type { MemoryFiles } from "tests/fakes/files.ts";
import { type BareClient, connectBare } from "tests/support/gateway_fixture.ts";

const KEYS_FILE = pathsUnder("/r").dialKeys;

/** A job as the host received it. */
export interface TakenJob {
  readonly id: string;
  readonly job: string;
  readonly agent: string | undefined;
  readonly by: string;
}

/** A connected host. */
export interface ScriptedHost {
  readonly client: BareClient;
  /**
   * Returns the next job of the gateway, except status requests that are answered automatically.
   */
  take(): Promise<TakenJob>;
  /** Answers each later status request with this document; undefined ends that. */
  answerLooks(report: unknown): void;
  /** Reports progress of the verb. */
  says(job: TakenJob, text: string): void;
  /** Reports that the verb ended, with the document that it printed. */
  done(job: TakenJob, report: unknown, exit?: number): void;
  /** Reports that the verb did not run. */
  failed(job: TakenJob, code: string, message: string): void;
  /** Drops the connection without a closing frame. */
  vanish(): Promise<void>;
}

/** The host keys in a gateway's files. */
export interface HostKeys {
  /** Enrolls a host; with `isRevoked`, the host has no valid key. */
  enroll(host: string, isRevoked?: boolean): Promise<void>;
  /** Connects an enrolled host. */
  connect(
    dialUrl: string,
    host: string,
    of?: { readonly version?: string },
  ): Promise<ScriptedHost>;
}

/** Manages host keys in the files of one gateway. */
export function hostKeys(files: MemoryFiles): HostKeys {
  const keys = new Map<string, DialKey>();
  const listed: Record<string, readonly string[]> = {};
  return {
    enroll: async (host, isRevoked = false) => {
      const { key } = await generateDialKey();
      keys.set(host, key);
      listed[hostSession(host)] = isRevoked ? [] : [key.publicKey];
      await files.ensureDir(KEYS_FILE.slice(0, KEYS_FILE.lastIndexOf("/")));
      await files.write(KEYS_FILE, JSON.stringify(listed));
    },
    connect: async (dialUrl, host, of = {}) => {
      const key = keys.get(host);
      if (key === undefined) throw new Error(`host ${host} is not enrolled`);
      const client = await connectBare(dialUrl, { protocols: [DIAL_SUBPROTOCOL] });
      const nonce = String((await client.next("challenge")).nonce);
      const who = { agent: hostSession(host), host };
      const gateway = new URL(dialUrl).host;
      const proof = await signProof(key, dialProofText({ nonce, ...who, userEmail: "", gateway }));
      client.send({
        type: "register",
        user_email: "",
        ...who,
        key: key.publicKey,
        proof,
        version: of.version ?? "1.2.3",
        protocol: 1,
        capabilities: ["jobs"],
      });
      await client.next("registered");
      return scripted(client);
    },
  };
}

function scripted(client: BareClient): ScriptedHost {
  const jobs: TakenJob[] = [];
  let status: unknown;
  let wake = () => {};
  const done: ScriptedHost["done"] = ({ id }, report, exit = 0) =>
    client.send({ type: "job_result", id, exit, output: JSON.stringify(report) });
  const sort = () => {
    for (const job of status === undefined ? [] : [...jobs]) {
      if (job.job !== "status") continue;
      jobs.splice(jobs.indexOf(job), 1);
      done(job, status);
    }
    wake();
  };
  const listen = async () => {
    for (;;) {
      const { id, job, agent, by } = await client.next("job");
      const named = { id: String(id), job: String(job), by: String(by) };
      jobs.push({ ...named, agent: agent === undefined ? undefined : String(agent) });
      sort();
    }
  };
  void listen();
  return {
    client,
    take: async () => {
      for (;;) {
        const job = jobs.shift();
        if (job !== undefined) return job;
        await new Promise<void>((resolve) => wake = resolve);
      }
    },
    answerLooks: (report) => {
      status = report;
      sort();
    },
    done,
    says: ({ id }, text) => client.send({ type: "job_progress", id, text }),
    failed: ({ id }, code, message) => client.send({ type: "job_result", id, code, message }),
    vanish: async () => {
      client.connection.terminate();
      await client.closed;
    },
  };
}
