/**
 * One conversation of the kit: what its members would see, and the platform's rules, enforced as
 * Teams documents them ("Stream bot messages", "Optimize your bot with rate limiting"). Pure: times
 * are passed in.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { contentFault } from "tests/teamchat/connector/content_rules.ts";

/** A message as its readers see it. */
export interface ShownMessage {
  readonly id: string;
  readonly text: string;
  readonly edits: number;
  /** Texts of a stream, in order. */
  readonly chunks: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
}

/** The connector's response to a request. */
export interface KitAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Stream {
  readonly id: string;
  readonly begun: number;
  sequence: number;
  text: string;
  chunks: string[];
  last: number;
  isOver: boolean;
  isCancelled: boolean;
}

/** Rules that a test may change. */
export interface KitRules {
  /** Maximum of a whole payload, in UTF-16 bytes. */
  readonly payloadBytesMax: number;
  readonly streamMs: number;
  /** Shortest time between two requests of a stream. */
  readonly streamGapMs: number;
  /** Whether requests need a token; the vendor's local test client needs none. */
  readonly asksForTokens: boolean;
}

/** The documented values. */
export const KIT_RULES: KitRules = {
  payloadBytesMax: 28 * 1024,
  streamMs: 120_000,
  streamGapMs: 1_000,
  asksForTokens: true,
};

const RATES = [[7, 1_000], [8, 2_000], [60, 30_000], [1_800, 3_600_000]] as const;

/** A conversation and the requests it received. */
export class KitConversation {
  readonly #type: "personal" | "group";
  readonly #rules: KitRules;
  readonly #messages: { -readonly [Field in keyof ShownMessage]: ShownMessage[Field] }[] = [];
  readonly #streams = new Map<string, Stream>();
  readonly #times: number[] = [];
  /** Violations of the platform's rules by a client, one line each. */
  readonly violations: string[] = [];
  typing = 0;
  #next = 1;
  isBlocked = false;

  constructor(type: "personal" | "group", rules: KitRules) {
    this.#type = type;
    this.#rules = rules;
  }

  /** The messages that are visible now. */
  get messages(): readonly ShownMessage[] {
    return this.#messages;
  }

  /** All streams that were opened. */
  get streams(): readonly Readonly<Stream>[] {
    return [...this.#streams.values()];
  }

  /** The owner presses "stop" on the running stream. */
  pressStop(): void {
    for (const stream of this.#streams.values()) if (!stream.isOver) stream.isCancelled = true;
  }

  /** Checks the rate of all requests; a refusal counts as a violation. */
  admit(now: number): KitAnswer | undefined {
    for (const [count, ms] of RATES) {
      if (this.#times.filter((at) => now - at < ms).length >= count) {
        this.violations.push(`more than ${count} requests in ${ms} ms`);
        return error(429, "TooManyRequests", "", { "retry-after": "2" });
      }
    }
    this.#times.push(now);
    return undefined;
  }

  /** Handles a new activity. */
  post(body: Record<string, unknown>, size: number, now: number): KitAnswer {
    if (this.isBlocked) return error(403, "MessageWritesBlocked", "Message writes are blocked");
    const info = (body.entities as { type?: string }[] | undefined)
      ?.find(({ type }) => type === "streaminfo") as StreamInfo | undefined;
    if (size > this.#rules.payloadBytesMax) {
      return error(413, "MessageSizeTooBig", "Message size too large");
    }
    const fault = this.#contentFault(body);
    if (fault !== undefined) return fault;
    if (info !== undefined) return this.#stream(body, info, now);
    if (body.type === "typing") {
      this.typing++;
      return { status: 201, body: {} };
    }
    const id = `m${this.#next++}`;
    this.#messages.push({ id, text: String(body.text ?? ""), edits: 0, chunks: [], body });
    return { status: 201, body: { id } };
  }

  /** Handles an edit. */
  put(id: string, body: Record<string, unknown>, size: number, now: number): KitAnswer {
    if (size > this.#rules.payloadBytesMax) {
      return error(413, "MessageSizeTooBig", "Message size too large");
    }
    const fault = this.#contentFault(body);
    if (fault !== undefined) return fault;
    const stream = this.#streams.get(id);
    if (stream !== undefined && !stream.isOver && now - stream.begun < this.#rules.streamMs) {
      // An edit replaces the message: its stream accepts nothing afterwards.
      stream.isOver = true;
    }
    const known = this.#messages.find((message) => message.id === id);
    if (known === undefined && stream === undefined) return error(404, "ActivityNotFound", "");
    const text = String(body.text ?? "");
    if (known === undefined) {
      this.#messages.push({ id, text, edits: 1, chunks: stream?.chunks ?? [], body });
    } else {
      known.text = text;
      known.body = body;
      known.edits++;
    }
    return { status: 200, body: { id } };
  }

  #contentFault(body: Record<string, unknown>): KitAnswer | undefined {
    const fault = contentFault(body);
    if (fault === undefined) return undefined;
    this.violations.push(fault);
    return error(400, "BadArgument", fault);
  }

  #stream(body: Record<string, unknown>, info: StreamInfo, now: number): KitAnswer {
    const refuse = (message: string) => error(403, "ContentStreamNotAllowed", message);
    if (this.#type !== "personal") return refuse("Content stream is not allowed");
    if (info.streamId === undefined) return this.#open(body, info, now);
    const stream = this.#streams.get(info.streamId);
    if (stream === undefined) return refuse("Content stream is not allowed");
    if (stream.isCancelled) return refuse("Content stream was canceled by user");
    if (stream.isOver) return refuse("Content stream was already completed");
    if (now - stream.begun >= this.#rules.streamMs) {
      return refuse("Content stream exceeded streaming time");
    }
    if (info.streamType === "final") return this.#final(body, info, stream);
    if (now - stream.last < this.#rules.streamGapMs) {
      this.violations.push(`stream requests ${now - stream.last} ms apart`);
      return error(429, "TooManyRequests", "", { "retry-after": "2" });
    }
    if (typeof info.streamSequence !== "number" || info.streamSequence <= stream.sequence) {
      this.violations.push(`sequence ${info.streamSequence} after ${stream.sequence}`);
      return {
        status: 202,
        body: { error: { code: "ContentStreamSequenceOrderPreConditionFailed" } },
      };
    }
    stream.last = now;
    const text = String(body.text ?? "");
    if (text === "") return error(400, "BadRequest", "Text is missing");
    if (info.streamType === "informative" && text.length > 1_000) {
      return error(400, "BadRequest", "Informative text is too long");
    }
    if (info.streamType === "streaming") {
      if (!text.startsWith(stream.text)) {
        this.violations.push(`chunk does not begin with what was shown: ${JSON.stringify(text)}`);
        return error(400, "BadRequest", "Text does not begin with the text before");
      }
      stream.text = text;
      stream.chunks.push(text);
    }
    stream.sequence = info.streamSequence;
    return { status: 202, body: {} };
  }

  #open(body: Record<string, unknown>, info: StreamInfo, now: number): KitAnswer {
    const running = [...this.#streams.values()].find((stream) =>
      !stream.isOver && !stream.isCancelled && now - stream.begun < this.#rules.streamMs
    );
    if (running !== undefined) {
      this.violations.push("two streams at once");
      return error(403, "ContentStreamNotAllowed", "Content stream is not allowed");
    }
    if (info.streamSequence !== 1 || body.type !== "typing" || String(body.text ?? "") === "") {
      this.violations.push(`stream begins with ${JSON.stringify(info)}`);
      return error(400, "BadRequest", "Bad request");
    }
    const id = `s${this.#next++}`;
    this.#streams.set(id, {
      id,
      begun: now,
      sequence: 1,
      text: "",
      chunks: [],
      last: now,
      isOver: false,
      isCancelled: false,
    });
    return { status: 201, body: { id } };
  }

  #final(body: Record<string, unknown>, info: StreamInfo, stream: Stream): KitAnswer {
    if (info.streamSequence !== undefined || body.type !== "message") {
      this.violations.push("final with a sequence or of another type");
      return error(400, "BadRequest", "Bad request");
    }
    stream.isOver = true;
    const { id, chunks } = stream;
    this.#messages.push({ id, text: String(body.text ?? ""), edits: 0, chunks, body });
    return { status: 202, body: {} };
  }
}

interface StreamInfo {
  readonly type: string;
  readonly streamType?: string;
  readonly streamSequence?: number;
  readonly streamId?: string;
}

/** An error in the connector's format. */
export function error(
  status: number,
  code: string,
  message: string,
  headers?: Readonly<Record<string, string>>,
): KitAnswer {
  return {
    status,
    body: { error: { code, message } },
    ...defined({ headers }),
  };
}
