/**
 * One host: its connection, its faults, its last job, and on demand its units, agents and earlier
 * jobs. Text from hosts is rendered as plain text only.
 *
 * @module
 */

import { useComputed } from "@preact/signals";
import { memo } from "preact/compat";
import { cleanLine } from "core/text/clean.ts";
import {
  checkHost,
  checks,
  type HostCheck,
  openConfirm,
  reports,
  requestFaults,
} from "gateway/web/app/hosts.ts";
import { agents, now } from "gateway/web/app/model.ts";
import { formatAge, labelOf, reasonWords } from "gateway/web/state/agents.ts";
import {
  agentsOf,
  agentsWords,
  count,
  type Fault,
  formatRun,
  type HostAgent,
  type HostJob,
  hostShape,
  type HostStatus,
  type HostView,
  jobName,
  jobState,
  presenceWords,
} from "gateway/web/state/hosts.ts";
import { StateSign } from "gateway/web/view/icons.tsx";

interface CardProps {
  readonly host: HostView;
  /** Name and version of the gateway. */
  readonly gateway: string;
  readonly version: string;
}

/** The card; rendered again only when its own host has changed. */
export const HostCard = memo(function HostCard({ host: of, gateway, version }: CardProps) {
  const { host, isOnline, jobs } = of;
  const check = useComputed(() => checks.value.get(host)).value;
  const status = check?.status;
  const faults = isOnline ? status?.faults ?? [] : [];
  const here = agentsOf(host, status, agents.value ?? []);
  const [last, ...earlier] = jobs;
  const refused = useComputed(() => requestFaults.value.get(host) ?? "").value;
  return (
    <article class="host-card" id={`host-${host}`} aria-labelledby={`name-${host}`} tabIndex={-1}>
      <header class={`host-head ${toneOf(of, faults.length)}`}>
        <StateSign shape={hostShape(of, faults.length)} />
        <div class="row-lines">
          <h3 id={`name-${host}`}>
            {host} {host === gateway ? <span class="tag">gateway</span> : null}
          </h3>
          <p class="row-under">
            {presenceWords(of, now.value)}
            {of.version === "" ? null : <Version own={of.version} gateway={version} />}
            {status === undefined && here.length === 0 ? null : ` · ${agentsWords(here)}`}
          </p>
        </div>
        {isOnline ? <Buttons of={of} check={check} /> : null}
      </header>
      {refused === "" ? null : <p class="host-fault" role="alert">{refused}</p>}
      {last === undefined ? null : <JobLine job={last} isNewest />}
      {isOnline ? <Found check={check} host={host} /> : <Away of={of} />}
      {status === undefined && here.length === 0 && earlier.length === 0
        ? null
        : (
          <details class="host-more">
            <summary>
              Units, agents and jobs <span class="unseen">of {host}</span>
            </summary>
            <Units status={status} />
            <Agents host={of} agents={here} />
            <Earlier jobs={earlier} />
          </details>
        )}
    </article>
  );
});

function toneOf({ isOnline }: HostView, faults: number): string {
  if (!isOnline) return "in-offline";
  return faults > 0 ? "in-attention" : "in-idle";
}

function Version({ own, gateway }: { readonly own: string; readonly gateway: string }) {
  const shown = ` · version ${cleanLine(own)}`;
  if (own === gateway) return <>{shown}</>;
  return (
    <>
      {shown} <span class="attention">(the gateway is {gateway})</span>
    </>
  );
}

function Buttons({ of, check }: { readonly of: HostView; readonly check: HostCheck | undefined }) {
  const { host, jobs } = of;
  const isApplying = jobs.some(({ job, ended }) => job === "apply" && ended === undefined);
  const isAsking = check?.isAsking === true;
  return (
    <div class="host-buttons">
      <button
        type="button"
        class="small"
        aria-disabled={isAsking}
        onClick={() => checkHost(host)}
      >
        {isAsking ? "Checking" : "Check"}
        <span class="unseen">{host}</span>
        {isAsking ? "…" : ""}
      </button>
      <button
        type="button"
        class="small"
        aria-disabled={isApplying}
        onClick={() => {
          if (!isApplying) openConfirm({ job: "apply", hosts: [host], agent: undefined });
        }}
      >
        {isApplying ? "Applying" : "Apply"}
        <span class="unseen">on {host}</span>…
      </button>
    </div>
  );
}

/** Result of the host's status check. */
function Found({ check, host }: { readonly check: HostCheck | undefined; readonly host: string }) {
  if (check === undefined) return null;
  const { status, fault, at, isAsking } = check;
  if (fault !== "") {
    return <p class="host-fault" role="alert">Could not check {host}. {fault}</p>;
  }
  if (status === undefined) return <p class="host-line faint">Checking…</p>;
  const age = formatAge(at, now.value);
  const when = isAsking
    ? "checking again"
    : age === "now"
    ? "checked just now"
    : `checked ${age} ago`;
  if (status.faults.length === 0) {
    return (
      <p class="host-line">
        No problems <span class="faint">· {when}</span>
      </p>
    );
  }
  return (
    <>
      <p class="host-line">
        <strong>
          {count(status.faults.length, "problem")}
        </strong>{" "}
        <span class="faint">· {when}</span>
      </p>
      <Faults faults={status.faults} />
    </>
  );
}

function Faults({ faults }: { readonly faults: readonly Fault[] }) {
  return (
    <ul class="host-faults" role="list">
      {faults.map(({ message, lines, hints }, at) => (
        <li key={at}>
          {cleanLine(message)}
          {lines.map((line, at) => <div class="faint" key={at}>{cleanLine(line)}</div>)}
          <Hints hints={hints} />
        </li>
      ))}
    </ul>
  );
}

function Hints({ hints }: { readonly hints: readonly string[] }) {
  return <>{hints.map((hint, at) => <code class="hint" key={at}>{cleanLine(hint)}</code>)}</>;
}

/** Steps for a host that is not connected: the page cannot act on it. */
function Away({ of: { host, isRevoked } }: { readonly of: HostView }) {
  return (
    <div class="host-line">
      {isRevoked
        ? (
          <>
            Its own <code>fleetctl host key list</code> shows its key; on the gateway's host:
            <Hints hints={[`fleetctl host key enroll ${host} KEY`]} />
          </>
        )
        : (
          <>
            It cannot be managed from here. On {host}:
            <Hints hints={["fleetctl status", "fleetctl logs role:host"]} />
          </>
        )}
    </div>
  );
}

function JobLine(
  { job, isNewest = false }: { readonly job: HostJob; readonly isNewest?: boolean },
) {
  const { words, tone } = jobState(job);
  const report = reports.value.get(job.id);
  const age = formatAge(job.ended ?? null, now.value);
  const when = job.ended === undefined
    ? formatRun(now.value - job.begun)
    : age === "now"
    ? "just now"
    : `${age} ago`;
  const changes = report === undefined ? "" : report.changes.join(", ");
  return (
    <div class={`host-job is-${tone}`} aria-busy={job.ended === undefined}>
      <p>
        <strong>{cleanLine(jobName(job))}</strong> {words}
        {changes === "" ? null : `: ${cleanLine(changes)}`}
        <span class="faint">· {when} · requested by {cleanLine(job.by)}</span>
      </p>
      {job.progress === "" || job.ended !== undefined
        ? null
        : <p class="host-progress">{cleanLine(job.progress)}</p>}
      {job.message === "" ? null : <p>{cleanLine(job.message)}</p>}
      <Hints hints={job.hints} />
      {report === undefined ? null : <Faults faults={report.faults} />}
      {isNewest && report !== undefined
        ? report.notes.map((note, at) => <p class="faint" key={at}>{cleanLine(note)}</p>)
        : null}
    </div>
  );
}

function Units({ status }: { readonly status: HostStatus | undefined }) {
  if (status === undefined || status.units.length === 0) return null;
  return (
    <>
      <h4>Units</h4>
      <ul class="host-rows" role="list">
        {status.units.map(({ role, state, reason }) => {
          const isUp = state === "active";
          return (
            <li class={isUp ? "in-idle" : "in-attention"} key={role}>
              <StateSign shape={isUp ? "ring" : "cross"} />
              <span class="host-row-name">{cleanLine(role)}</span>
              <span class="faint">{cleanLine(reason === "" ? state : `${state} (${reason})`)}</span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

function Agents(
  { host, agents }: { readonly host: HostView; readonly agents: readonly HostAgent[] },
) {
  if (agents.length === 0) return null;
  return (
    <>
      <h4>Agents</h4>
      <ul class="host-rows" role="list">
        {agents.map(({ name, state, reason }) => {
          const label = labelOf(state, reason);
          const shown = reasonWords(reason);
          const isBusy = host.jobs.some(({ agent, ended }) =>
            agent === name && ended === undefined
          );
          return (
            <li class={`in-${label.group}`} key={name}>
              <StateSign shape={label.shape} />
              <span class="host-row-name">{cleanLine(name)}</span>
              <span class="faint">
                {label.words}
                {shown === "" ? "" : ` · ${cleanLine(shown)}`}
              </span>
              <span class="spacer" />
              {host.isOnline
                ? (
                  <button
                    type="button"
                    class="small"
                    aria-disabled={isBusy}
                    onClick={() => {
                      if (isBusy) return;
                      openConfirm({ job: "restart", hosts: [host.host], agent: name });
                    }}
                  >
                    {isBusy ? "Restarting" : "Restart"}
                    <span class="unseen">{name}</span>…
                  </button>
                )
                : null}
            </li>
          );
        })}
      </ul>
    </>
  );
}

function Earlier({ jobs }: { readonly jobs: readonly HostJob[] }) {
  if (jobs.length === 0) return null;
  return (
    <>
      <h4>Earlier jobs</h4>
      {jobs.map((job) => <JobLine job={job} key={job.id} />)}
    </>
  );
}
