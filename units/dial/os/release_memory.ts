/**
 * Returns memory that this process no longer uses to the machine. V8 collects garbage only when a
 * program allocates, and the C library keeps what it has freed. So an idle process keeps both.
 *
 * @module
 */

import { openLibc } from "core/os/libc.ts";

interface GarbageCollection {
  readonly type: "major";
  readonly execution: "sync";
  readonly flavor: "last-resort";
}

/** Collects garbage if V8 was started with `--expose-gc`, then returns freed pages. */
export function releaseMemory(): void {
  const { gc } = globalThis as { readonly gc?: (how: GarbageCollection) => void };
  // Any other flavor keeps the collected space for later objects: 5 MB more.
  gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  const libc = openLibc();
  try {
    libc.symbols.malloc_trim(0n);
  } finally {
    libc.close();
  }
}
