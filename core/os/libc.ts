/**
 * C library calls that the platform lacks: the credentials of a unix socket's peer, the umask,
 * which descriptors a child inherits, freed memory. Under a scoped permission set also signals to a
 * process group and reads of `/proc`.
 * The library has an absolute path, so that a permission set can name exactly this file under
 * `ffi`.
 *
 * @module
 */

/** Location of the C library, by architecture. Permission sets name the same path. */
export const LIBC_PATHS = {
  x86_64: "/lib/x86_64-linux-gnu/libc.so.6",
  aarch64: "/lib/aarch64-linux-gnu/libc.so.6",
} as const;

const SYMBOLS = {
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  umask: { parameters: ["u32"], result: "u32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  kill: { parameters: ["i32", "i32"], result: "i32" },
  malloc_trim: { parameters: ["usize"], result: "i32" },
  close_range: { parameters: ["u32", "u32", "i32"], result: "i32" },
} as const;

/** The calls as typed functions. The code that opens the library closes it. */
export type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

/** Opens the library; throws where it is missing or not permitted. */
export function openLibc(): Libc {
  return Deno.dlopen(LIBC_PATHS[Deno.build.arch], SYMBOLS);
}

/** First descriptor after stdin, stdout and stderr. */
const FIRST_OWN = 3;
const LAST = 0xffff_ffff;
const CLOSE_RANGE_CLOEXEC = 4;

/**
 * Marks every open descriptor close-on-exec. The platform opens the unix sockets of `node:net`
 * inheritable. A child would then keep its parent's listeners open, even after the parent's death
 * (close_range(2), Linux 5.11).
 */
export function keepDescriptors(libc: Libc): void {
  if (libc.symbols.close_range(FIRST_OWN, LAST, CLOSE_RANGE_CLOEXEC) === 0) return;
  throw new Error("Cannot keep descriptors from children: the kernel refuses, must be Linux 5.11");
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGKILL: 9, SIGTERM: 15 } as const;

/**
 * Signals a process group. Returns whether the group still existed; undefined when the permission
 * set does not name the library.
 */
export function signalGroup(
  group: number,
  signal: keyof typeof SIGNAL_NUMBERS,
): boolean | undefined {
  const path = LIBC_PATHS[Deno.build.arch];
  if (Deno.permissions.querySync({ name: "ffi", path }).state !== "granted") return undefined;
  const libc = openLibc();
  try {
    return libc.symbols.kill(-group, SIGNAL_NUMBERS[signal]) === 0;
  } finally {
    libc.close();
  }
}
