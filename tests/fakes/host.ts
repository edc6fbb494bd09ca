/**
 * A machine for tests: every port is a fake, except sockets, which are real and on loopback.
 *
 * @module
 */

import type { Host } from "core/ports/host.ts";
import { systemSockets } from "core/os/sockets.ts";
import { type FakeClock, fakeClock } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { type MemoryFiles, memoryFiles } from "tests/fakes/files.ts";
import { type FakeHttp, fakeHttp } from "tests/fakes/http.ts";
import { type RecordingLog, recordingLog } from "tests/fakes/log.ts";
import { type FakeProcesses, fakeProcesses, type FakeProgram } from "tests/fakes/processes.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { memoryUsers } from "tests/fakes/users.ts";

/** A host whose dependencies a test can inspect. */
export interface MemoryHost extends Host {
  readonly clock: FakeClock;
  readonly files: MemoryFiles;
  readonly processes: FakeProcesses;
  readonly http: FakeHttp;
  readonly log: RecordingLog;
}

/** Creates a machine with the given files and programs. */
export function memoryHost(
  options: {
    /** Path → text. */
    readonly files?: Readonly<Record<string, string>>;
    readonly programs?: Readonly<Record<string, FakeProgram>>;
    readonly http?: (request: Request) => Response | Promise<Response>;
    readonly users?: Parameters<typeof memoryUsers>[0];
    readonly now?: number;
    readonly seed?: number;
  } = {},
): MemoryHost {
  const clock = fakeClock(options.now);
  const processes = fakeProcesses(options.programs);
  const log = recordingLog();
  return {
    clock,
    random: seededRandom(options.seed),
    files: memoryFiles(options.files, { now: clock.now }),
    processes,
    users: memoryUsers(options.users),
    http: fakeHttp(options.http),
    sockets: systemSockets({ processes, log }),
    databases: memoryDatabases(),
    log,
  };
}
