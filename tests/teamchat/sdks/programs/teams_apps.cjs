/**
 * `@microsoft/teams.apps` with its own HTTP server.
 *
 * @module
 */

const { App } = require("@microsoft/teams.apps");

const app = new App({
  clientId: process.env.TEAMS_APP_ID,
  clientSecret: process.env.TEAMS_APP_PASSWORD,
  tenantId: process.env.TEAMS_APP_TENANT_ID,
});
app.on("message", async ({ send, activity }) => {
  if (process.env.FLEETCTL_ECHO === "1") await send(activity.text);
});
app.start(Number(process.env.PORT));
