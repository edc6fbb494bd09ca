/**
 * The fields of a question's form: native controls with labels, descriptions and faults.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { cleanLine } from "core/text/clean.ts";
import type { QuestionField, QuestionForm } from "core/questions/form.ts";
import { controlName, OTHER, otherName } from "gateway/web/state/questions.ts";

interface FieldProps {
  /** Unique start of the ids in the page. */
  readonly id: string;
  readonly at: number;
  readonly field: QuestionField;
  readonly fault: string | undefined;
}

/** All fields of a form. */
export function QuestionFields({ id, form, faults }: {
  readonly id: string;
  readonly form: QuestionForm;
  readonly faults: ReadonlyMap<string, string>;
}) {
  return (
    <>
      {form.fields.map((field, at) => {
        const of = { id: `${id}-${at}`, at, field, fault: faults.get(field.name) };
        const isPicked = field.kind === "choice" || field.kind === "choices" ||
          field.kind === "boolean";
        return isPicked ? <Picked {...of} key={field.name} /> : <Typed {...of} key={field.name} />;
      })}
    </>
  );
}

/** Attributes that connect a control with its fault and description. */
function described({ id, field, fault }: FieldProps) {
  return {
    "aria-invalid": fault !== undefined,
    "aria-required": field.required,
    "aria-describedby": field.description === undefined ? `${id}-fault` : `${id}-fault ${id}-note`,
  };
}

function Notes({ id, field, fault }: FieldProps) {
  return (
    <>
      <p class="field-fault" id={`${id}-fault`}>{fault === undefined ? "" : cleanLine(fault)}</p>
      {field.description === undefined
        ? null
        : <p class="field-note" id={`${id}-note`}>{cleanLine(field.description)}</p>}
    </>
  );
}

function Title({ field }: { readonly field: QuestionField }) {
  return (
    <>
      {cleanLine(field.title)} {field.required ? null : <span class="faint">· optional</span>}
    </>
  );
}

const INPUT_TYPES: Readonly<Record<string, "email" | "url" | "date" | "number">> = {
  "email": "email",
  "uri": "url",
  "date": "date",
  "number": "number",
  "integer": "number",
};
function typeOf({ kind, format = "" }: QuestionField): string {
  return INPUT_TYPES[kind === "text" ? format : kind] ?? "text";
}

/** A text field with a higher limit, or none, has several lines. */
const LINE_LENGTH_MAX = 120;

function Typed(of: FieldProps) {
  const { id, at, field } = of;
  const { kind, format, min, max } = field;
  const common = {
    id,
    name: controlName(at),
    defaultValue: field.default === undefined ? "" : String(field.default),
    ...described(of),
  };
  const isLong = kind === "text" && format === undefined && (max ?? Infinity) > LINE_LENGTH_MAX;
  return (
    <div class="field">
      <label for={id}>
        <Title field={field} />
      </label>
      {isLong ? <textarea {...common} rows={2} maxLength={max} /> : (
        <input
          {...common}
          type={typeOf(field) as "text"}
          {...(kind === "text"
            ? { maxLength: max }
            : { min, max, step: kind === "integer" ? 1 : "any" })}
        />
      )}
      <Notes {...of} />
    </div>
  );
}

/** One option as the person sees it; `value` is that of its control. */
interface Pick {
  readonly value: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly isPicked: boolean;
}

function picksOf(field: QuestionField): readonly Pick[] {
  const { kind, default: fallback, options = [] } = field;
  if (kind === "boolean") {
    return [
      { value: "yes", label: "Yes", isPicked: fallback === true },
      { value: "no", label: "No", isPicked: fallback === false },
    ];
  }
  return options.map(({ value, label, description }, at) => ({
    value: String(at),
    label,
    description,
    isPicked: fallback === value || typeof fallback === "object" && fallback.includes(value),
  }));
}

function Picked(of: FieldProps) {
  const { id, at, field } = of;
  const isMany = field.kind === "choices";
  const type = isMany ? "checkbox" : "radio";
  const { "aria-required": isRequired, ...shared } = described(of);
  const name = controlName(at);
  return (
    <fieldset
      class="question-picks"
      aria-describedby={shared["aria-describedby"]}
      {
        // A group of checkboxes has no attribute that says that it is required.
        ...(isMany ? {} : { role: "radiogroup", "aria-required": isRequired })
      }
    >
      <legend>
        <Title field={field} />
      </legend>
      {picksOf(field).map((pick) => (
        <Choice description={pick.description} key={pick.value}>
          <input
            type={type}
            name={name}
            value={pick.value}
            defaultChecked={pick.isPicked}
            aria-invalid={shared["aria-invalid"]}
          />
          <span>{cleanLine(pick.label)}</span>
        </Choice>
      ))}
      {field.allows_other === true
        ? <OtherChoice id={id} at={at} type={type} title={field.title} />
        : null}
      {isMany || field.required ? null : (
        <Choice>
          <input type="radio" name={name} value="" />
          <span class="faint">No answer</span>
        </Choice>
      )}
      <Notes {...of} />
    </fieldset>
  );
}

function Choice({ description, children }: {
  readonly description?: string | undefined;
  readonly children: ComponentChildren;
}) {
  return (
    <label class="question-pick">
      {children}
      {description === undefined
        ? null
        : <span class="question-pick-note">{cleanLine(description)}</span>}
    </label>
  );
}

/** A text beside the options; typing in it selects it. */
function OtherChoice({ id, at, type, title }: {
  readonly id: string;
  readonly at: number;
  readonly type: "checkbox" | "radio";
  readonly title: string;
}) {
  return (
    <div class="question-other">
      <label class="question-pick">
        <input id={`${id}-other`} type={type} name={controlName(at)} value={OTHER} />
        <span>Other…</span>
      </label>
      <input
        type="text"
        name={otherName(at)}
        aria-label={`Other answer to: ${cleanLine(title)}`}
        onInput={({ currentTarget: { value } }) => {
          const control = document.getElementById(`${id}-other`);
          if (control instanceof HTMLInputElement && value !== "") control.checked = true;
        }}
      />
    </div>
  );
}
