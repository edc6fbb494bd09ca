/**
 * Entry of the part of the page that shows the hosts; loaded when they are opened first. The page
 * is imported for nothing but this: all of it stays one script (`gateway/web_build/main.ts`).
 *
 * @module
 */

import "gateway/web/main.ts";

export { HostsPane } from "gateway/web/view/hosts_pane.tsx";
