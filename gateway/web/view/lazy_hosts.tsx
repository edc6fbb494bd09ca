/**
 * The place of the hosts: their part of the page is for admins and comes when it is opened first. A
 * page that is older than its gateway may find that part gone; then a reload brings both.
 *
 * @module
 */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "gateway/web/view/icons.tsx";

/** What the part brings. */
interface HostsPart {
  readonly HostsPane: ComponentType;
}

let loaded: HostsPart | undefined;

/** The hosts, or what there is until they are here. */
export function LazyHosts() {
  const [part, setPart] = useState(loaded);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (part !== undefined) return;
    // Named by the page, because its name changes with what is in it.
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
