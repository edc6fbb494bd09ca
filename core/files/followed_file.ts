/**
 * Follows a rendered file: reads it again when it changed, four times a second and on request. The
 * reader needs no restart and no right to the folder, and misses no replacement. Why polling:
 * docs/adr/0010-dial-keys-in-the-ledger.md.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { fileVersion } from "core/files/file_stat.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Result } from "core/result.ts";

/** A file that is followed. */
export interface FollowedFile {
  /** Whether the file was unusable at the last check. */
  isDamaged(): boolean;
  /**
   * Reads the file now. Resolves when the reader has seen a state that is at least as new as this
   * call. Never rejects.
   */
  refresh(): Promise<void>;
  close(): void;
}

/** Dependencies. */
export interface FollowedFileDeps {
  readonly path: string;
  readonly files: Pick<Files, "readText" | "stat">;
  readonly clock: Clock;
  /** Reads a changed text. The error says what is wrong with it; the file then counts as damaged. */
  readonly read: (text: string) => Result<void, string>;
  /** Called once for each new fault: the file is missing, unreadable or damaged. */
  readonly onFault: (fault: string) => void;
}

/** Starts to follow a file; its first check is a quarter of a second later. */
export function followFile(deps: FollowedFileDeps): FollowedFile {
  return new Follower(deps);
}

class Follower implements FollowedFile {
  readonly #deps: FollowedFileDeps;
  #version: string | undefined;
  #text: string | undefined;
  #fault = "";
  #underWay: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isClosed = false;
  #cancel = () => {};

  constructor(deps: FollowedFileDeps) {
    this.#deps = deps;
    this.#arm();
  }

  isDamaged(): boolean {
    return this.#fault !== "";
  }

  /** A check in flight may have begun before a change, so each call waits for a later check. */
  refresh(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#next ??= (async () => {
      await this.#underWay;
      this.#next = undefined;
      this.#underWay = this.#check().catch((thrown) => this.#refuse(errorText(thrown)));
      await this.#underWay;
    })();
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #arm(): void {
    this.#cancel = this.#deps.clock.after(DIAL_LIMITS.keyFilePollMs, async () => {
      await this.refresh();
      if (!this.#isClosed) this.#arm();
    });
  }

  async #check(): Promise<void> {
    const { path, files, clock, read } = this.#deps;
    const stat = await files.stat(path);
    const version = fileVersion(stat, clock.now(), DIAL_LIMITS.keyFileSettledMs);
    if (version !== undefined && version === this.#version) return;
    const text = stat === undefined ? undefined : await files.readText(path);
    this.#version = version;
    if (text === undefined) return this.#refuse("there is no such file");
    if (text === this.#text || this.#isClosed) return;
    const done = read(text);
    if (!done.ok) return this.#refuse(done.error);
    this.#text = text;
    this.#fault = "";
  }

  #refuse(fault: string): void {
    if (fault !== this.#fault) this.#deps.onFault(fault);
    this.#fault = fault;
    // Read the file again once it is readable, even if its text is unchanged.
    this.#text = undefined;
  }
}
