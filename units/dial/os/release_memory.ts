/**
 * Returns memory that this process no longer uses to the machine. V8 collects garbage only when a
 * program allocates, and the C library keeps what it has freed. So an idle process keeps both.
 *
 * @module
 */

import { openLibc } from "core/os/libc.ts";

/** Collects garbage if V8 was started with `--expose-gc`, then returns freed pages. */
export function releaseMemory(): void {
  (globalThis as { readonly gc?: () => void }).gc?.();
  const libc = openLibc();
  try {
    libc.symbols.malloc_trim(0n);
  } finally {
    libc.close();
  }
}
