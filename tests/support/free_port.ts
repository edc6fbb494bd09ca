/**
 * A port for a program that cannot choose one itself.
 *
 * @module
 */

/** Returns a loopback port on which nothing listened a moment ago. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
