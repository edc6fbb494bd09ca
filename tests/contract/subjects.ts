/**
 * Runs one suite against several implementations of a port: the adapter and the fake.
 *
 * @module
 */

/** One implementation. */
export interface Subject<Port> {
  readonly name: string;
  /** Opens the port. Returns it, a path that the test may use, and a function that cleans up. */
  open(): Promise<readonly [port: Port, path: string, clean: () => Promise<void>]>;
}

/** Runs each test of a suite against every subject. */
export function contractOf<Port>(
  subjects: readonly Subject<Port>[],
): (name: string, run: (port: Port, path: string) => Promise<void>) => void {
  return (name, run) => {
    for (const subject of subjects) {
      Deno.test({
        name: `${subject.name}() ${name}`,
        sanitizeOps: true,
        sanitizeResources: true,
        fn: async () => {
          const [port, path, clean] = await subject.open();
          try {
            await run(port, path);
          } finally {
            await clean();
          }
        },
      });
    }
  };
}
