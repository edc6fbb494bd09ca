/**
 * An MCP server of the evaluation over stdio: `contacts`, `calendar` or `tickets`. It appends each
 * change to a log, one JSON object per line. Usage: `office_server.ts ROLE LOG`.
 *
 * @module
 */

import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const [role, log] = Deno.args;
if (role === undefined || log === undefined) throw new Error("usage: office_server.ts ROLE LOG");

const server = new McpServer({ name: role, version: "1.0.0" });
const json = (value: unknown) => ({
  content: [{ type: "text" as const, text: JSON.stringify(value) }],
});
const fault = (text: string) => ({
  content: [{ type: "text" as const, text }],
  isError: true,
});

/** Records a change before it is answered. */
async function change(value: unknown): Promise<void> {
  await Deno.writeTextFile(log ?? "", `${JSON.stringify(value)}\n`, { append: true });
}

const CONTACTS = [
  { id: "c-4", name: "Mia Bergman", team: "sales" },
  { id: "c-7", name: "Mia Berg", team: "design" },
  { id: "c-9", name: "Mira Berg", team: "design" },
];
const FREE: Readonly<Record<string, readonly string[]>> = {
  "2027-03-04": ["09:00", "15:30"],
  "2027-03-05": ["13:30", "16:00"],
};
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const PAGES = [
  [{ id: "T-1", hours: 3 }, { id: "T-2", hours: 5 }],
  [{ id: "T-17", hours: 8 }, { id: "T-18", hours: 1 }],
  [{ id: "T-30", hours: 4 }],
];

function serveContacts(): void {
  server.registerTool("find_contact", {
    description: "Finds contacts whose name contains a text.",
    inputSchema: z.object({ name: z.string() }),
    annotations: { readOnlyHint: true },
  }, ({ name }) => {
    const wanted = name.toLowerCase();
    return json(CONTACTS.filter((contact) => contact.name.toLowerCase().includes(wanted)));
  });
}

function serveCalendar(): void {
  server.registerTool("free_slots", {
    description: "Lists the free times of a contact on a day, earliest first.",
    inputSchema: z.object({ contact_id: z.string(), day: z.string() }),
    annotations: { readOnlyHint: true },
  }, ({ day }) => DAY.test(day) ? json(FREE[day] ?? []) : fault("day must be YYYY-MM-DD"));
  server.registerTool("book_meeting", {
    description: "Books a meeting. A booked meeting cannot be moved.",
    inputSchema: z.object({
      contact_id: z.string(),
      day: z.string(),
      time: z.string(),
      minutes: z.number(),
    }),
  }, async (meeting) => {
    if (FREE[meeting.day]?.includes(meeting.time) !== true) return fault("that time is taken");
    await change({ booked: meeting });
    return json({ ok: true });
  });
}

function serveTickets(): void {
  let isFirst = true;
  server.registerTool("list_tickets", {
    description: "Lists the open tickets of a page with their hours. Pages count from 1.",
    inputSchema: z.object({ page: z.number() }),
    annotations: { readOnlyHint: true },
  }, ({ page }) => {
    if (page === 2 && isFirst) {
      isFirst = false;
      return fault("the tickets are locked for a moment, try again");
    }
    return json({ tickets: PAGES[page - 1] ?? [], pages: PAGES.length });
  });
  server.registerTool("close_ticket", {
    description: "Closes a ticket.",
    inputSchema: z.object({ id: z.string() }),
  }, async ({ id }) => {
    if (!PAGES.flat().some((ticket) => ticket.id === id)) return fault("there is no such ticket");
    await change({ closed: id });
    return json({ ok: true });
  });
}

if (role === "contacts") serveContacts();
else if (role === "calendar") serveCalendar();
else serveTickets();
await server.connect(new StdioServerTransport());
