/**
 * The hosts of the fleet: their connection, their status, and operations on them. For admins; the
 * gateway refuses all other viewers.
 *
 * @module
 */

import { useEffect } from "preact/hooks";
import { cleanLine } from "core/text/clean.ts";
import { checks, fleet, followHosts, openConfirm } from "gateway/web/app/hosts.ts";
import { connection, hostsProblem } from "gateway/web/app/model.ts";
import { addCommands, count, type Fleet, type HostView } from "gateway/web/state/hosts.ts";
import { HostCard } from "gateway/web/view/host_card.tsx";
import { HostDialog } from "gateway/web/view/host_dialog.tsx";
import { Icon } from "gateway/web/view/icons.tsx";
import { CodeBlock } from "gateway/web/view/long_text.tsx";
import { BackButton } from "gateway/web/view/shell.tsx";

/** The pane. */
export function HostsPane() {
  useEffect(followHosts, []);
  const known = fleet.value;
  const online = known?.hosts.filter(({ isOnline }) => isOnline) ?? [];
  return (
    <>
      <header class="bar talk-bar">
        <BackButton />
        <h1 class="talk-name">Hosts</h1>
        {known === undefined || known.hosts.length === 0
          ? null
          : <p class="talk-state">{online.length} of {known.hosts.length} connected</p>}
        <span class="spacer" />
        {online.length < 2 ? null : <ApplyAll hosts={online} />}
      </header>
      <div class="pane-place">
        <div class="pane" tabIndex={0} role="region" aria-label="Hosts of the fleet">
          <div class="column hosts">
            <Content known={known} />
          </div>
        </div>
      </div>
      <HostDialog />
    </>
  );
}

function ApplyAll({ hosts }: { readonly hosts: readonly HostView[] }) {
  return (
    <button
      type="button"
      class="small"
      onClick={() =>
        openConfirm({ job: "apply", hosts: hosts.map(({ host }) => host), agent: undefined })}
    >
      Apply to all…
    </button>
  );
}

function Content({ known }: { readonly known: Fleet | undefined }) {
  if (hostsProblem.value !== "") {
    return (
      <div class="empty">
        <Icon name="host" />
        <h2>Cannot show the hosts</h2>
        <p>{cleanLine(hostsProblem.value)}</p>
      </div>
    );
  }
  if (known === undefined) {
    if (connection.value.kind === "signed-out") {
      return <p class="list-note">Sign in to see them.</p>;
    }
    return (
      <div class="list-waiting" aria-busy="true" aria-label="Hosts are loading">
        {[0, 1].map((row) => <div class="ghost" key={row} />)}
      </div>
    );
  }
  return (
    <>
      {known.isComplete ? null : (
        <p class="notice" role="alert">
          The list of enrolled hosts cannot be read, so hosts that are away are missing here. On the
          gateway's host: <code>fleetctl apply</code>
        </p>
      )}
      {known.hosts.length === 0 ? <NoHosts known={known} /> : <Groups known={known} />}
    </>
  );
}

function Groups({ known }: { readonly known: Fleet }) {
  const away = known.hosts.filter(({ isOnline }) => !isOnline);
  const here = known.hosts.filter(({ isOnline }) => isOnline);
  const bad = here.filter(({ host }) => (checks.value.get(host)?.status?.faults.length ?? 0) > 0);
  return (
    <>
      {bad.length === 0 ? null : (
        <p class="hosts-note">
          There are problems on {bad.map(({ host }, at) => (
            <>
              {at === 0 ? "" : ", "}
              <ToHost host={host} />
            </>
          ))}.
        </p>
      )}
      <Group name="Not connected" hosts={away} known={known} />
      <Group name="Connected" hosts={here} known={known} />
      <details class="add-host">
        <summary>Add a host</summary>
        <AddHost known={known} />
      </details>
    </>
  );
}

/** Scrolls to a host further down. The URL does not change, because the page's routing uses it. */
function ToHost({ host }: { readonly host: string }) {
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        const card = document.getElementById(`host-${host}`);
        card?.scrollIntoView({ block: "start" });
        card?.focus({ preventScroll: true });
      }}
    >
      {host}
    </button>
  );
}

function Group(
  { name, hosts, known }: {
    readonly name: string;
    readonly hosts: readonly HostView[];
    readonly known: Fleet;
  },
) {
  if (hosts.length === 0) return null;
  return (
    <section aria-label={`${name}: ${count(hosts.length, "host")}`}>
      <h2 class="group-name">
        {name} <span class="faint">{hosts.length}</span>
      </h2>
      {hosts.map((host) => (
        <HostCard host={host} gateway={known.gateway} version={known.version} key={host.host} />
      ))}
    </section>
  );
}

function NoHosts({ known }: { readonly known: Fleet }) {
  return (
    <div class="no-hosts">
      <Icon name="host" />
      <h2>No hosts enrolled yet</h2>
      <p>
        Every host of the fleet, including the gateway's, connects to this gateway once{" "}
        <code>fleetctl apply</code>{" "}
        has run on it. It then appears here with its problems, and can be brought in line with its
        ledger. A trial with <code>fleetctl up</code> has no such connection.
      </p>
      <h3>Add a host</h3>
      <AddHost known={known} />
    </div>
  );
}

function AddHost({ known }: { readonly known: Fleet }) {
  const { there, here } = addCommands(known.gateway);
  return (
    <ol class="steps">
      <li>
        <p>Install the package on the new host. Then, as root there:</p>
        <CodeBlock text={there} language="sh" />
      </li>
      <li>
        <p>
          The last line prints the host's name and its key. With both, as root on{" "}
          {known.gateway === "" ? "the gateway's host" : known.gateway}:
        </p>
        <CodeBlock text={here} language="sh" />
      </li>
    </ol>
  );
}
