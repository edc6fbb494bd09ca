/**
 * The form that connects a model. The key exists only in the field and in the request that sends
 * it: in no draft, storage or URL.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announcement, running } from "gateway/web/app/model.ts";
import { chooseModel, fetchModel, Refused } from "gateway/web/device/cockpit.ts";
import {
  emptyFields,
  faultsOf,
  type Field,
  FIELDS,
  type FormFaults,
  formOf,
  keepsKey,
  type ModelCard,
  type ModelForm as Form,
  modelName,
  type Provider,
  PROVIDERS,
  requestOf,
} from "gateway/web/state/model_form.ts";

/** Phase of the form; `waiting` until the agent has ended its turn. */
type Phase = "loading" | "ready" | "waiting" | "testing" | "done";

const NO_FAULTS: FormFaults = { fields: {}, summary: "", canSkipTest: false };

function faultOf(thrown: unknown): FormFaults {
  if (!(thrown instanceof Refused)) {
    const summary =
      "The gateway did not answer. Open this dialog again to see whether anything changed.";
    return { ...NO_FAULTS, summary };
  }
  return thrown.isSignedOut
    ? { ...NO_FAULTS, summary: "You are signed out. Sign in again, then connect the model." }
    : faultsOf(thrown.problem);
}

/** State and actions of the form. */
function useModelChoice(agent: string) {
  const [card, setCard] = useState<ModelCard>();
  const [form, setForm] = useState<Form>();
  const [phase, setPhase] = useState<Phase>("loading");
  const [faults, setFaults] = useState(NO_FAULTS);
  const isChecked = useRef(true);
  const show = (found: ModelCard, next: Phase) => {
    setCard(found);
    setForm(formOf(found));
    setPhase(next);
  };
  const load = async () => {
    setFaults(NO_FAULTS);
    try {
      show(await fetchModel(agent), "ready");
    } catch (thrown) {
      setFaults(faultOf(thrown));
    }
  };
  const send = async (given: Form) => {
    setPhase("testing");
    try {
      const now = await chooseModel(requestOf(agent, given, isChecked.current));
      show(now, "done");
      announcement.value = `${agent} now uses ${modelName(now)}`;
    } catch (thrown) {
      const isEarly = thrown instanceof Refused && thrown.problem.code === "agent-working";
      // Retry automatically only when the page will see the turn end.
      if (isEarly && running.value !== undefined) return setPhase("waiting");
      setFaults(faultOf(thrown));
      setPhase("ready");
    }
  };
  const isWorking = running.value !== undefined;
  useEffect(() => void load(), [agent]);
  useEffect(() => {
    if (phase === "waiting" && !isWorking && form !== undefined) void send(form);
  }, [phase, isWorking]);
  const submit = (check: boolean) => {
    if (card === undefined || form === undefined) return;
    isChecked.current = check;
    const empty = emptyFields(form, card);
    setFaults(empty ?? NO_FAULTS);
    if (empty === undefined) setPhase("waiting");
  };
  const edit = (next: Form) => {
    // Faults refer to the old input, so a change of provider clears them.
    if (next.provider !== form?.provider) setFaults(NO_FAULTS);
    setForm(next);
  };
  const isHeldUp = phase === "waiting" && isWorking;
  // The demo model is part of the product, so nothing is tested.
  const isTested = isChecked.current && form?.provider !== "demo";
  const stop = () => setPhase("ready");
  return { card, form, phase, faults, isHeldUp, isTested, load, submit, edit, stop };
}

/** The form for one agent. */
export function ModelForm({ agent }: { readonly agent: string }) {
  const { card, form, phase, faults, ...act } = useModelChoice(agent);
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const first = FIELDS.find((field) => faults.fields[field] !== undefined);
    element.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus();
  }, [faults]);
  if (card === undefined || form === undefined) {
    return <Loading faults={faults} retry={() => void act.load()} />;
  }
  if (phase === "done") return <Done agent={agent} card={card} />;
  const isBusy = phase === "waiting" || phase === "testing";
  const isDemo = form.provider === "demo";
  return (
    <form
      ref={element}
      class="model-form"
      // If this script fails, a key still never becomes part of a URL.
      method="post"
      noValidate
      autocomplete="off"
      aria-busy={isBusy}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) act.submit(true);
      }}
    >
      <p>
        {agent} uses <strong>{modelName(card)}</strong>.
      </p>
      <Providers
        form={form}
        isBusy={isBusy}
        choose={(provider) =>
          act.edit({
            ...form,
            provider,
            key: "",
            model: provider === card.provider ? card.model : "",
          })}
      />
      {isDemo
        ? <p class="faint">The demo model needs no key. It runs the real tools of {agent}.</p>
        : <Fields {...{ form, card, faults, isBusy }} change={act.edit} />}
      <p class="form-fault" role="alert">{faults.summary}</p>
      {act.isHeldUp
        ? (
          <p class="form-note" role="status">
            {agent} works on a turn. {act.isTested ? "The test starts" : "The model changes"}{" "}
            when the turn ends.
          </p>
        )
        : null}
      <div class="form-end">
        {faults.canSkipTest && !isBusy
          ? (
            <button type="button" onClick={() => act.submit(false)}>
              Connect without testing
            </button>
          )
          : null}
        {act.isHeldUp ? <button type="button" onClick={act.stop}>Stop waiting</button> : null}
        <button type="submit" class="primary" aria-disabled={isBusy}>
          {isBusy ? busyWord(act) : isDemo ? "Use the demo model" : "Test and connect"}
        </button>
      </div>
    </form>
  );
}

/** Returns the label of the button while the form works. */
function busyWord({ isHeldUp, isTested }: Record<"isHeldUp" | "isTested", boolean>): string {
  if (isHeldUp) return "Waiting…";
  return isTested ? "Testing…" : "Connecting…";
}

function Loading({ faults, retry }: { readonly faults: FormFaults; readonly retry: () => void }) {
  if (faults.summary === "") {
    return (
      <div class="list-waiting" aria-busy="true" aria-label="Loading">
        <div class="ghost" />
      </div>
    );
  }
  return (
    <>
      <p class="form-fault" role="alert">{faults.summary}</p>
      <p>
        <button type="button" onClick={retry}>Try again</button>
      </p>
    </>
  );
}

function Done({ agent, card }: { readonly agent: string; readonly card: ModelCard }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  return (
    <>
      <p role="status">
        {agent} now uses <strong>{modelName(card)}</strong>.
        {card.isKeySet ? ` Its key is stored on the host${endOf(card)}, for ${agent} only.` : ""}
      </p>
      <div class="form-end">
        <button
          type="button"
          class="primary"
          ref={button}
          onClick={() => button.current?.closest("dialog")?.close()}
        >
          Done
        </button>
      </div>
    </>
  );
}

function endOf({ keyEnd }: ModelCard): string {
  return keyEnd === "" ? "" : ` (it ends with ${keyEnd})`;
}

function Providers(of: {
  readonly form: Form;
  readonly isBusy: boolean;
  readonly choose: (provider: Provider) => void;
}) {
  return (
    <fieldset class="choices" disabled={of.isBusy}>
      <legend>Provider</legend>
      {(Object.keys(PROVIDERS) as Provider[]).map((provider) => (
        <label class="choice" key={provider}>
          <input
            type="radio"
            name="provider"
            value={provider}
            checked={of.form.provider === provider}
            onChange={() =>
              of.choose(provider)}
          />
          {PROVIDERS[provider].label}
        </label>
      ))}
    </fieldset>
  );
}

function Fields({ form, card, faults, isBusy, change }: {
  readonly form: Form;
  readonly card: ModelCard;
  readonly faults: FormFaults;
  readonly isBusy: boolean;
  readonly change: (form: Form) => void;
}) {
  const [isShown, setShown] = useState(false);
  const isOther = form.provider === "openai-compatible";
  const input = (field: Field) => ({
    id: `model-${field}`,
    name: field,
    readOnly: isBusy,
    spellcheck: false,
    ...{ autocapitalize: "off", autocomplete: "off" } as const,
    "aria-invalid": faults.fields[field] !== undefined,
    "aria-describedby": `model-${field}-fault model-${field}-note`,
  });
  return (
    <>
      {isOther
        ? (
          <Row field="base_url" label="Address" faults={faults} note={addressNote(form.baseUrl)}>
            <input
              {...input("base_url")}
              type="url"
              value={form.baseUrl}
              placeholder="for example https://models.example/v1"
              onInput={(event) => change({ ...form, baseUrl: event.currentTarget.value })}
            />
          </Row>
        )
        : null}
      <Row field="model" label="Model" faults={faults} note="The provider's name for the model">
        <input
          {...input("model")}
          type="text"
          value={form.model}
          placeholder={`for example ${PROVIDERS[form.provider].example}`}
          onInput={(event) => change({ ...form, model: event.currentTarget.value })}
        />
      </Row>
      <Row field="key" label="Key" faults={faults} note={keyNote(form, card)}>
        <span class="with-button">
          <input
            {...input("key")}
            type={(isShown ? "text" : "password") as "password"}
            value={form.key}
            onInput={(event) => change({ ...form, key: event.currentTarget.value })}
          />
          <button type="button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? "Hide" : "Show"} <span class="unseen">the key</span>
          </button>
        </span>
      </Row>
    </>
  );
}

function keyNote(form: Form, card: ModelCard): string {
  if (keepsKey(form, card)) return `Leave empty to keep the current key${endOf(card)}`;
  return form.provider === "openai-compatible"
    ? "Leave empty if the endpoint needs no key. Stored on the host, for this agent only"
    : "Stored on the host, for this agent only; never shown again";
}

/** Warns that a key over plain HTTP can be read in transit, unless it goes to this machine. */
function addressNote(address: string): string {
  const isOpen = /^http:\/\/(?!localhost[:/]|127\.|\[::1\])/i.test(address.trim());
  return isOpen
    ? "Not encrypted: anyone on the network path can read the key and the messages"
    : "An OpenAI-compatible chat endpoint (vLLM, Ollama and others); usually ends in /v1";
}

function Row({ field, label, faults, note, children }: {
  readonly field: Field;
  readonly label: string;
  readonly faults: FormFaults;
  readonly note: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="field">
      <label for={`model-${field}`}>{label}</label>
      {children}
      <p class="field-fault" id={`model-${field}-fault`}>{faults.fields[field]}</p>
      <p class="field-note" id={`model-${field}-note`}>{note}</p>
    </div>
  );
}
