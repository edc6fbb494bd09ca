/**
 * Containers for tests: podman with its own store, run as root inside another container. It uses
 * the host's network, no systemd, no capabilities and a read-only root.
 *
 * @module
 */

const decoder = new TextDecoder();

/** Output and exit code of a program. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Podman with one store. */
export interface Podman {
  /** Runs it, with any exit code. */
  say(...args: readonly string[]): Promise<Said>;
  /** Runs it; fails with its output unless it exits with 0. */
  must(...args: readonly string[]): Promise<string>;
}

/**
 * The options for running the image in docs/teamchat.md, with limits because nested ones are lower.
 */
export const CONFINED = [
  "--read-only",
  "--cap-drop",
  "all",
  "--security-opt",
  "no-new-privileges",
  "--network",
  "host",
  "--ulimit",
  "nofile=20000:20000",
  "--ulimit",
  "nproc=1000:1000",
] as const;

/** Creates it, with all its data below `folder`. */
export function podmanIn(folder: string): Podman {
  const base = [
    "--root",
    `${folder}/store`,
    "--runroot",
    `${folder}/run`,
    "--tmpdir",
    `${folder}/tmp`,
    "--storage-driver",
    "vfs",
    "--cgroup-manager",
    "cgroupfs",
    "--runtime",
    "runc",
  ];
  const say: Podman["say"] = async (...args) => {
    const output = await new Deno.Command("podman", {
      args: [...base, ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    return {
      code: output.code,
      stdout: decoder.decode(output.stdout),
      stderr: decoder.decode(output.stderr),
    };
  };
  return {
    say,
    must: async (...args) => {
      const printed = await say(...args);
      if (printed.code === 0) return printed.stdout;
      throw new Error(
        `podman ${args.join(" ")}: ${printed.code}: ${printed.stderr}${printed.stdout}`,
      );
    },
  };
}
