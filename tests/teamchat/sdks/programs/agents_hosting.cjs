/**
 * `@microsoft/agents-hosting` on Express, set up as its own `startServer` does, with issuer checks.
 *
 * @module
 */

const express = require("express");
const {
  ActivityHandler,
  authorizeJWT,
  CloudAdapter,
  getAuthConfigWithDefaults,
} = require("@microsoft/agents-hosting");

const config = getAuthConfigWithDefaults({
  clientId: process.env.TEAMS_APP_ID,
  clientSecret: process.env.TEAMS_APP_PASSWORD,
  tenantId: process.env.TEAMS_APP_TENANT_ID,
  validateIssuer: true,
});
const adapter = new CloudAdapter(config);
const handler = new ActivityHandler();
handler.onMessage(async (context, next) => {
  if (process.env.FLEETCTL_ECHO === "1") await context.sendActivity(context.activity.text);
  await next();
});
const app = express();
app.use(express.json());
app.use(authorizeJWT(config));
app.post(
  "/api/messages",
  (request, response) => adapter.process(request, response, (context) => handler.run(context)),
);
app.listen(Number(process.env.PORT), "127.0.0.1");
