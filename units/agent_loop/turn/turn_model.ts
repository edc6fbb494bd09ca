/**
 * The model that answers in a turn: the primary one, and after an overload the fallback for the
 * rest of the turn. Pure.
 *
 * @module
 */

import type { AskFault } from "units/agent_loop/turn/ask_model.ts";
import type { LoadedModel } from "units/agent_loop/model/provider.ts";
import type { ModelFaultCode } from "units/agent_loop/model/fault.ts";
import type { ModelSettings } from "units/agent_loop/settings.ts";

/** A model that can be called. */
export interface CallableModel {
  readonly loaded: LoadedModel;
  readonly settings: ModelSettings;
}

/** The models of a turn. */
export interface TurnModels extends CallableModel {
  /** Answers when the primary model is overloaded; absent when none is set. */
  readonly fallback?: CallableModel | undefined;
}

/** The faults after which another model of the same provider may still answer. */
const OVERLOADS: readonly ModelFaultCode[] = ["model-overloaded", "model-rate-limited"];
/** Id of the demo model, whose settings name no model. */
const DEMO_MODEL = "demo";

/** Chooses between the models of one turn; each turn begins with the primary one. */
export class TurnModel {
  readonly #models: TurnModels;
  #isFallback = false;

  constructor(models: TurnModels) {
    this.#models = models;
  }

  /** The model to call next. */
  get current(): CallableModel {
    const { loaded, settings, fallback } = this.#models;
    return this.#isFallback && fallback !== undefined ? fallback : { loaded, settings };
  }

  /** Id of the model to call next. */
  get name(): string {
    return this.current.settings.model || DEMO_MODEL;
  }

  /** Id of the fallback while it answers. */
  get fallbackName(): string | undefined {
    return this.#isFallback ? this.name : undefined;
  }

  /** Goes on as an earlier process of this turn: with the fallback, if that gave the last answer. */
  resume(answeredBy: string | undefined): void {
    this.#isFallback = answeredBy !== undefined &&
      answeredBy === this.#models.fallback?.settings.model;
  }

  /**
   * Switches to the fallback if that can help, and returns the notice for people. A step whose text
   * the owner has already read in part is not repeated.
   */
  afterFault({ fault, partial }: AskFault): string | undefined {
    const { fallback } = this.#models;
    const canHelp = OVERLOADS.includes(fault.code) && partial.length === 0;
    if (!canHelp || fallback === undefined || this.#isFallback) return undefined;
    this.#isFallback = true;
    return `${fault.reason}; the fallback model ${fallback.settings.model} continues this turn`;
  }
}
