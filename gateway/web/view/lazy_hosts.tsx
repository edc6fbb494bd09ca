/**
 * Loads the hosts part when it is first opened; it is for admins. If the page is older than the
 * gateway, the part may no longer exist; a reload then loads both.
 *
 * @module
 */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "gateway/web/view/icons.tsx";

/** Exports of the hosts part. */
interface HostsPart {
  readonly HostsPane: ComponentType;
}

let loaded: HostsPart | undefined;

/** The hosts, or a placeholder until they are loaded. */
export function LazyHosts() {
  const [part, setPart] = useState(loaded);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (part !== undefined) return;
    // The page provides the file's name, because it contains a hash.
    const address = document.documentElement.dataset.hosts ?? "";
    import(address).then(
      (found: HostsPart) => setPart(loaded = found),
      () => setMissing(true),
    );
  }, []);
  if (part !== undefined) return <part.HostsPane />;
  if (!isMissing) {
    return (
      <div class="list-waiting" aria-busy="true" aria-label="Hosts are loading">
        <div class="ghost" />
      </div>
    );
  }
  return (
    <div class="nothing" role="alert">
      <Icon name="host" />
      <p>This part of the page did not load. Unsent messages are kept.</p>
      <a class="button" href={location.pathname}>Reload the page</a>
    </div>
  );
}
