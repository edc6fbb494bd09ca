/**
 * The confirmation before a host is changed: what will happen, to which hosts, and what it may
 * interrupt.
 *
 * @module
 */

import {
  checks,
  fleet,
  type JobRequest,
  jobRequest,
  runConfirmed,
  workingAmong,
} from "gateway/web/app/hosts.ts";
import { agents, dialog } from "gateway/web/app/model.ts";
import { agentsOf } from "gateway/web/state/hosts.ts";
import { Dialog } from "gateway/web/view/dialogs.tsx";

/** The dialog, while a job waits for confirmation. */
export function HostDialog() {
  const wanted = jobRequest.value;
  if (dialog.value !== "host" || wanted === undefined) return null;
  return (
    <Dialog title={titleOf(wanted)} key="host">
      <Question wanted={wanted} />
    </Dialog>
  );
}

function titleOf({ job, hosts, agent }: JobRequest): string {
  if (job === "restart") return `Restart ${agent}?`;
  return hosts.length === 1 ? `Apply on ${hosts[0]}?` : `Apply on ${hosts.length} hosts?`;
}

function Question({ wanted }: { readonly wanted: JobRequest }) {
  const { job, hosts, agent } = wanted;
  const known = hosts.flatMap((host) =>
    agentsOf(host, checks.value.get(host)?.status, agents.value ?? []).map(({ name }) => name)
  );
  const working = workingAmong(agent === undefined ? known : [agent]);
  const away = hosts.length < 2 ? [] : fleet.value?.hosts.filter((one) => !one.isOnline) ?? [];
  return (
    <>
      {job === "restart"
        ? <p>{agent} restarts on {hosts[0]} and reloads its MCPs and settings.</p>
        : (
          <p>
            {hosts.length === 1 ? "The host is" : "Each host is"}{" "}
            brought in line with its ledger. Agents whose unit, client config or MCPs changed are
            restarted.
          </p>
        )}
      {working.length === 0 ? null : (
        <p class="attention">
          {working.join(", ")} {working.length === 1 ? "is" : "are"}{" "}
          working on a turn. A restart ends it.
        </p>
      )}
      {away.length === 0 ? null : (
        <p>
          Not connected, and left as {away.length === 1 ? "it is" : "they are"}:{" "}
          {away.map(({ host }) => host).join(", ")}.
        </p>
      )}
      <div class="form-end">
        {/* Focus starts here, not at the action: a key may have been meant for something else. */}
        <button type="button" autofocus onClick={closeDialog}>Cancel</button>
        <button
          type="button"
          class="primary"
          onClick={(event) => {
            closeDialog(event);
            void runConfirmed(wanted);
          }}
        >
          {job === "restart" ? "Restart" : "Apply"}
        </button>
      </div>
    </>
  );
}

function closeDialog({ currentTarget }: { readonly currentTarget: Element }): void {
  currentTarget.closest("dialog")?.close();
}
