/**
 * `botbuilder` on Express, set up as in its samples.
 *
 * @module
 */

const express = require("express");
const {
  ActivityHandler,
  CloudAdapter,
  ConfigurationBotFrameworkAuthentication,
} = require("botbuilder");

const adapter = new CloudAdapter(
  new ConfigurationBotFrameworkAuthentication({
    MicrosoftAppId: process.env.TEAMS_APP_ID,
    MicrosoftAppPassword: process.env.TEAMS_APP_PASSWORD,
    MicrosoftAppType: "SingleTenant",
    MicrosoftAppTenantId: process.env.TEAMS_APP_TENANT_ID,
  }),
);
adapter.onTurnError = async () => {};
const handler = new ActivityHandler();
handler.onMessage(async (context, next) => {
  if (process.env.FLEETCTL_ECHO === "1") await context.sendActivity(context.activity.text);
  await next();
});
const app = express();
app.use(express.json());
app.post(
  "/api/messages",
  (request, response) => adapter.process(request, response, (context) => handler.run(context)),
);
app.listen(Number(process.env.PORT), "127.0.0.1");
