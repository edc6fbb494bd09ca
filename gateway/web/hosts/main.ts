/**
 * Entry of the part of the page that shows the hosts; loaded when they are first opened. The
 * import of the page keeps all shared code in one script (`gateway/web_build/main.ts`).
 *
 * @module
 */

import "gateway/web/main.ts";

export { HostsPane } from "gateway/web/view/hosts_pane.tsx";
