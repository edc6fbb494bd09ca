/**
 * Copies bytes between two connections of a test in both directions.
 *
 * @module
 */

/** Copies until both directions have ended; `open` contains the connections meanwhile. */
export async function pipeConns(
  ends: readonly [Deno.Conn, Deno.Conn],
  open: Set<Deno.Conn>,
): Promise<void> {
  const [one, other] = ends;
  for (const end of ends) open.add(end);
  // Either side may close first; the other copy then fails.
  await Promise.allSettled([
    one.readable.pipeTo(other.writable),
    other.readable.pipeTo(one.writable),
  ]);
  for (const end of ends) {
    open.delete(end);
    closeConn(end);
  }
}

/** Closes a connection that may be closed. */
export function closeConn(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // Its streams have already closed it.
  }
}
