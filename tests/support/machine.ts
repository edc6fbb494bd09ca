/**
 * Detects what this machine offers to tests, and installs missing Debian packages.
 *
 * @module
 */

const decoder = new TextDecoder();

async function quiet(
  command: string,
  args: readonly string[],
): Promise<{ ok: boolean; text: string }> {
  try {
    const output = await new Deno.Command(command, {
      args: [...args],
      stdout: "piped",
      stderr: "piped",
      // In this runlevel, packages that bring a web server do not start it.
      env: { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" },
    }).output();
    return {
      ok: output.success,
      text: decoder.decode(output.stdout) + decoder.decode(output.stderr),
    };
  } catch (thrown) {
    return { ok: false, text: String(thrown) };
  }
}

/** Returns the path of the first program of the list that is on PATH. */
export async function programPath(...names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const found = await quiet("/bin/sh", ["-c", 'command -v "$1"', "sh", name]);
    if (found.ok) return found.text.trim();
  }
  return undefined;
}

/** Debian packages that tests use, by the program that shows that the package is installed. */
const APT_PROGRAMS: readonly (readonly [program: string, packageName: string])[] = [
  ["git", "git"],
  ["chromium", "chromium"],
  ["systemd-nspawn", "systemd-container"],
  ["systemd-analyze", "systemd"],
  ["mmdebstrap", "mmdebstrap"],
  ["socat", "socat"],
  ["ip", "iproute2"],
  ["setpriv", "util-linux"],
  ["script", "bsdutils"],
  ["ps", "procps"],
  ["dpkg-deb", "dpkg"],
  ["/usr/bin/python3", "python3"],
  ["/usr/bin/pip3", "python3-pip"],
  ["bwrap", "bubblewrap"],
  ["sudo", "sudo"],
  ["buildah", "buildah"],
  ["podman", "podman"],
  ["runc", "runc"],
  ["nginx", "nginx"],
  ["caddy", "caddy"],
  ["curl", "curl"],
  ["openssl", "openssl"],
  ["lintian", "lintian"],
];

/** Packages without a program, by one of their files. */
const APT_FILES: readonly (readonly [path: string, packageName: string])[] = [
  ["/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "fonts-dejavu-core"],
];

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then(({ isFile }) => isFile, () => false);
}

/** Installs the missing Debian packages as root. Reports progress and failures through `say`. */
export async function installPackages(say: (line: string) => void): Promise<void> {
  const missing: string[] = [];
  for (const [program, packageName] of APT_PROGRAMS) {
    if (await programPath(program) === undefined) missing.push(packageName);
  }
  for (const [path, packageName] of APT_FILES) {
    if (!await isFile(path)) missing.push(packageName);
  }
  if (missing.length === 0) return;
  if (Deno.uid() !== 0 || await programPath("apt-get") === undefined) {
    say(`not installed, and this is not root with apt-get: ${missing.join(" ")}`);
    return;
  }
  say(`installing with apt-get: ${missing.join(" ")}`);
  const install = ["install", "-y", "--no-install-recommends", ...missing];
  let result = await quiet("apt-get", install);
  if (!result.ok) {
    await quiet("apt-get", ["update"]);
    result = await quiet("apt-get", install);
  }
  if (!result.ok) say(`apt-get failed: ${result.text.trim().split("\n").slice(-3).join(" | ")}`);
}

/** What a group of tests may need of the machine. */
export type MachineNeed =
  | "root"
  | "chromium"
  | "booted-hosts"
  | "network-devices"
  | "containers"
  | "web-servers";

/** Returns why a need is not met, or undefined when it is. */
export async function unmet(need: MachineNeed): Promise<string | undefined> {
  switch (need) {
    case "root":
      return Deno.uid() === 0 ? undefined : "not running as root";
    case "chromium": {
      if (await programPath("chromium", "chromium-headless-shell") === undefined) {
        return "no Chromium on this machine (apt-get install chromium)";
      }
      for (const [path, packageName] of APT_FILES) {
        if (!await isFile(path)) return `no fonts for pictures (apt-get install ${packageName})`;
      }
      return undefined;
    }
    case "booted-hosts": {
      if (await programPath("systemd-nspawn") === undefined) return "no systemd-nspawn";
      const mount = await quiet("unshare", ["-m", "sh", "-c", "mount -t tmpfs none /mnt"]);
      if (!mount.ok) return "no right to mount";
      const cgroup = await quiet("sh", [
        "-c",
        'for d in /sys/fs/cgroup /sys/fs/cgroup/systemd; do n="$d/fleetctl-probe-$$"; mkdir ' +
        '"$n" 2>/dev/null && rmdir "$n" && exit 0; done; exit 1',
      ]);
      return cgroup.ok ? undefined : "no right to make control groups";
    }
    case "containers": {
      for (const name of ["buildah", "podman", "runc"]) {
        if (await programPath(name) === undefined) return `no ${name} (apt-get install ${name})`;
      }
      return await runsContainers();
    }
    case "web-servers":
      for (const name of ["nginx", "caddy", "curl", "openssl"]) {
        if (await programPath(name) === undefined) return `no ${name} (apt-get install ${name})`;
      }
      return undefined;
    case "network-devices": {
      const made = await quiet("unshare", [
        "-n",
        "sh",
        "-ec",
        "ip link add lan type bridge; ip link add here type veth peer name there",
      ]);
      return made.ok ? undefined : "no right to make network devices, or no bridge in the kernel";
    }
  }
}

/**
 * Starts a container with one program of this machine in it. Only a real start shows whether the
 * mounts, namespaces and control groups of a container work here. Returns the last line of the
 * container runtime's output as the reason, or undefined when the container runs.
 */
async function runsContainers(): Promise<string | undefined> {
  const folder = await Deno.makeTempDir({ prefix: "fleetctl-containers-" });
  try {
    const rootfs = `${folder}/rootfs`;
    const filled = await quiet("sh", [
      "-ec",
      'mkdir "$1"; cp -L --parents $(ldd /bin/true | grep -o "/[^ ]*") /bin/true "$1"',
      "sh",
      rootfs,
    ]);
    if (!filled.ok) return `no files for a container: ${filled.text.trim()}`;
    const store = ["--root", `${folder}/s`, "--runroot", `${folder}/r`, "--tmpdir", `${folder}/t`];
    const ran = await quiet("podman", [
      ...store,
      "--storage-driver",
      "vfs",
      "--cgroup-manager",
      "cgroupfs",
      "--runtime",
      "runc",
      "run",
      "--rm",
      "--network",
      "host",
      "--read-only",
      "--cap-drop",
      "all",
      "--ulimit",
      "nofile=20000:20000",
      "--ulimit",
      "nproc=1000:1000",
      "--rootfs",
      rootfs,
      "/bin/true",
    ]);
    if (ran.ok) return undefined;
    return `containers do not start here: ${ran.text.trim().split("\n").at(-1) ?? ""}`;
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

/** Returns whether processes can start in a separate network namespace with only loopback. */
export async function canCutNetwork(): Promise<boolean> {
  if (Deno.uid() !== 0) return false;
  return (await quiet("unshare", ["-n", "sh", "-c", "ip link set lo up"])).ok;
}
