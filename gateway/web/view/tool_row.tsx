/**
 * A tool call: one line that opens to its full arguments and result.
 *
 * @module
 */

import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import { clean, cleanLine } from "core/text/clean.ts";
import { toolSort, toolTarget } from "core/text/tool_call.ts";
import { isWaiting } from "gateway/web/app/approvals.ts";
import { questions } from "gateway/web/app/questions.ts";
import { NEEDS_ANSWER, NEEDS_APPROVAL } from "gateway/web/state/agents.ts";
import { waitsForAnswer } from "gateway/web/state/questions.ts";
import {
  foldEnd,
  foldWords,
  formatArguments,
  formatBytes,
  formatDuration,
  TOOL_STATUS_WORDS,
} from "gateway/web/state/tool_words.ts";
import type { FoldStep, ToolStep } from "gateway/web/state/turns.ts";
import { Icon } from "gateway/web/view/icons.tsx";
import { LongText } from "gateway/web/view/long_text.tsx";

/** One call. Its content is rendered when it is opened. */
export const ToolRow = memo(function ToolRow({ step }: { readonly step: ToolStep }) {
  const [isOpen, setOpen] = useState(false);
  const target = toolTarget(step);
  const name = step.mcp === null ? step.tool : `${step.mcp} · ${step.tool}`;
  return (
    <details
      class={`tool is-${step.status}`}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Icon name={toolSort(step.tool)} />
        <span class="tool-name">{cleanLine(name)}</span>
        <span class="tool-target">{target}</span>
        <span class="tool-end">
          {step.durationMs === undefined ? null : <span>{formatDuration(step.durationMs)}</span>}
          <ToolStatus status={step.status} running={step} />
        </span>
        <Icon name="chevron" />
      </summary>
      {isOpen ? <ToolDetail step={step} /> : null}
    </details>
  );
}, (before, after) => sameTool(before.step, after.step));

function sameTool(a: ToolStep, b: ToolStep): boolean {
  return a.key === b.key && a.status === b.status;
}

function ToolStatus(
  { status, running }: {
    readonly status: ToolStep["status"];
    /** The call itself, when it may be running. */
    readonly running?: ToolStep;
  },
) {
  // A call that needs approval does not run until a person has decided.
  if (status === "running" && running !== undefined && isWaiting(running)) {
    return <span class="tool-status is-waiting">{NEEDS_APPROVAL}</span>;
  }
  if (status === "running" && running !== undefined && waitsForAnswer(running, questions.value)) {
    return <span class="tool-status is-waiting">{NEEDS_ANSWER}</span>;
  }
  return <span class={`tool-status is-${status}`}>{TOOL_STATUS_WORDS[status]}</span>;
}

function ToolDetail({ step }: { readonly step: ToolStep }) {
  return (
    <div class="tool-detail">
      <h3>Arguments</h3>
      <LongText text={clean(formatArguments(step.arguments))} label="Arguments" />
      <Cut bytes={step.argumentsCut} />
      <h3>Result</h3>
      {step.result === undefined
        ? <p class="faint">{step.status === "running" ? "No result yet" : "No result"}</p>
        : step.result === ""
        ? <p class="faint">Empty</p>
        : <LongText text={clean(step.result)} label="Result" />}
      <Cut bytes={step.resultCut} />
    </div>
  );
}

/** Reports that a text was too long to be stored. */
export function Cut({ bytes }: { readonly bytes: number }) {
  return bytes === 0 ? null : <p class="cut">{formatBytes(bytes)} were cut: too long to be kept</p>;
}

/** Three or more calls in a row. */
export const ToolFold = memo(function ToolFold({ step }: { readonly step: FoldStep }) {
  const { tools } = step;
  const [isOpen, setOpen] = useState(false);
  const end = foldEnd(tools);
  const open = tools.findLast(({ status }) => status === "running");
  const spent = tools.reduce((sum, { durationMs }) => sum + (durationMs ?? 0), 0);
  return (
    <details class="tool fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="stack" />
        <span class="tool-name">{foldWords(tools)}</span>
        <span class="tool-target">
          {open === undefined ? "" : `${open.tool} ${toolTarget(open)}`}
        </span>
        <span class="tool-end">
          {spent === 0 ? null : <span>{formatDuration(spent)}</span>}
          {open !== undefined
            ? <ToolStatus status="running" running={open} />
            : <span class={`tool-status is-${end.status}`}>{end.words}</span>}
        </span>
        <Icon name="chevron" />
      </summary>
      {isOpen
        ? <div class="fold-rows">{tools.map((tool) => <ToolRow step={tool} key={tool.key} />)}</div>
        : null}
    </details>
  );
});
