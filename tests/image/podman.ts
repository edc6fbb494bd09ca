/**
 * Containers for tests: podman with a store of its own, as it runs inside another container and as
 * root: the host's network, no systemd, no capability, a root that cannot be written.
 *
 * @module
 */

const decoder = new TextDecoder();

/** What a program said. */
export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Podman over one store. */
export interface Podman {
  /** Runs it; does not care how it ends. */
  say(...args: readonly string[]): Promise<Said>;
  /** Runs it; fails with its words unless it ends with 0. */
  must(...args: readonly string[]): Promise<string>;
}

/**
 * How the image is run by whoever follows docs/teamchat.md; limits because nested ones are lower.
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

/** Makes it, with everything it keeps below `folder`. */
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
      const said = await say(...args);
      if (said.code === 0) return said.stdout;
      throw new Error(`podman ${args.join(" ")}: ${said.code}: ${said.stderr}${said.stdout}`);
    },
  };
}
