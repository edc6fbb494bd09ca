/**
 * The conformance kit: a connector, a token endpoint and a key set that speak the platform's
 * protocol and *enforce* it: sequence, prefix, pace, two minutes, size and rates. It can answer 504
 * after it accepted a request, cut connections, rotate keys and stall. Usable with any bot:
 * `handle` accepts requests in memory, `serveKit` serves the kit on loopback.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { printYaml } from "core/text/yaml.ts";
import {
  error,
  KIT_RULES,
  type KitAnswer,
  KitConversation,
  type KitRules,
} from "tests/teamchat/connector/conversation.ts";
import { FILE_HOST, FileService } from "tests/teamchat/connector/file_service.ts";
import {
  APP_ID,
  createKitKeys,
  ISSUER,
  type KitKeys,
  TENANT,
} from "tests/teamchat/connector/keys.ts";

/** The client secret that the kit's token endpoint accepts. */
export const APP_SECRET = "kit-secret-value-1234567890";

/** One request to the connector. */
export interface KitCall {
  readonly method: string;
  readonly conversation: string;
  readonly activity: string | undefined;
  /** `informative`, `streaming`, `final`, `typing`, `message` or `edit`. */
  readonly kind: string;
  readonly body: Record<string, unknown>;
  readonly at: number;
  readonly status: number;
}

/** The effect of a fault on a matching request. */
export type FaultEffect =
  /** Sends this answer and does nothing. */
  | { readonly answer: KitAnswer }
  /** Executes the request and sends this answer. */
  | { readonly after: KitAnswer }
  /** Cuts the connection, before or after it executes the request. */
  | { readonly cut: "before" | "after" }
  /** Executes the request, sends the status and never ends the body. */
  | { readonly stall: true }
  /** Executes the request or not, calls `reached`, and sends no answer until it is released. */
  | {
    readonly hold: "before" | "after";
    readonly reached: () => void;
    readonly release: Promise<void>;
  }
  | { readonly response: () => Response };

/** A scripted fault: skips `skip` requests of a kind, then matches `times` of them. */
export interface Fault {
  readonly kind: string;
  readonly skip?: number;
  readonly times?: number;
  readonly effect: FaultEffect;
}

/** The kit. */
export interface ConnectorKit {
  readonly keys: KitKeys;
  readonly files: FileService;
  /** Requests to unknown hosts. */
  readonly strays: readonly string[];
  readonly serviceUrl: string;
  /** Content of the file for `TEAMS_CLOUD`. */
  readonly cloudFile: string;
  handle(request: Request): Promise<Response>;
  conversation(id: string): KitConversation;
  readonly calls: readonly KitCall[];
  /** Requests for paths outside the connector, such as metadata and keys. */
  readonly paths: readonly string[];
  readonly tokensMinted: number;
  script(...faults: readonly Fault[]): void;
  /** Replaces the response of the metadata, key or token endpoint. */
  override(
    path: "metadata" | "keys" | "token",
    respond: (() => Response | Promise<Response>) | undefined,
  ): void;
  /** Expires every minted token. */
  expireTokens(): void;
  violations(): readonly string[];
}

/** Makes a kit whose endpoints are all under `origin`. */
export async function createConnectorKit(options: {
  readonly origin?: string;
  readonly now?: () => number;
  readonly rules?: Partial<KitRules>;
} = {}): Promise<ConnectorKit> {
  const origin = options.origin ?? "http://127.0.0.1:9";
  const now = options.now ?? Date.now;
  return new Kit(origin, now, { ...KIT_RULES, ...options.rules }, await createKitKeys(now));
}

class Kit implements ConnectorKit {
  readonly keys: KitKeys;
  readonly files = new FileService();
  readonly strays: string[] = [];
  readonly calls: KitCall[] = [];
  readonly paths: string[] = [];
  tokensMinted = 0;
  readonly #origin: string;
  readonly #now: () => number;
  readonly #rules: KitRules;
  readonly #conversations = new Map<string, KitConversation>();
  readonly #faults: { fault: Fault; skip: number; times: number }[] = [];
  readonly #overrides = new Map<string, () => Response | Promise<Response>>();
  #tokens = new Set<string>();

  constructor(origin: string, now: () => number, rules: KitRules, keys: KitKeys) {
    this.#origin = origin;
    this.#now = now;
    this.#rules = rules;
    this.keys = keys;
  }

  get serviceUrl(): string {
    return `${this.#origin}/teams/`;
  }

  get cloudFile(): string {
    return printYaml({
      issuer: ISSUER,
      openid_metadata: `${this.#origin}/v1/.well-known/openidconfiguration`,
      login_url: `${this.#origin}/login/`,
      default_tenant: "botframework.test",
      scope: "https://connector.test/.default",
      service_hosts: [this.#origin],
    });
  }

  conversation(id: string): KitConversation {
    const known = this.#conversations.get(id);
    if (known !== undefined) return known;
    const made = new KitConversation(id.startsWith("19:") ? "group" : "personal", this.#rules);
    this.#conversations.set(id, made);
    return made;
  }

  script(...faults: readonly Fault[]): void {
    for (const fault of faults) {
      this.#faults.push({ fault, skip: fault.skip ?? 0, times: fault.times ?? 1 });
    }
  }

  override(path: string, respond: (() => Response | Promise<Response>) | undefined): void {
    if (respond === undefined) this.#overrides.delete(path);
    else this.#overrides.set(path, respond);
  }

  expireTokens(): void {
    this.#tokens = new Set();
  }

  violations(): readonly string[] {
    const rooms = [...this.#conversations].flatMap(([id, { violations }]) =>
      violations.map((text) => `${id}: ${text}`)
    );
    return [...rooms, ...this.files.violations, ...this.strays.map((url) => `stray ${url}`)];
  }

  async handle(request: Request): Promise<Response> {
    const { pathname, hostname, origin } = new URL(request.url);
    if (hostname === FILE_HOST) return await this.files.handle(request);
    if (!/^(?:127\.|localhost$)/.test(hostname)) {
      this.strays.push(`${origin}${pathname}`);
      return new Response(null, { status: 502 });
    }
    const part = pathname === "/v1/.well-known/openidconfiguration"
      ? "metadata"
      : pathname === "/v1/.well-known/keys"
      ? "keys"
      : /^\/login\/[^/]+\/oauth2\/v2\.0\/token$/.test(pathname)
      ? "token"
      : undefined;
    if (part === undefined) return await this.#connector(request, pathname);
    this.paths.push(part);
    const override = this.#overrides.get(part);
    if (override !== undefined) return await override();
    if (part === "metadata") {
      return Response.json({
        issuer: ISSUER,
        jwks_uri: `${this.#origin}/v1/.well-known/keys`,
        id_token_signing_alg_values_supported: ["RS256"],
      });
    }
    return part === "keys" ? Response.json(this.keys.published()) : await this.#mint(request);
  }

  async #mint(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    const isGood = form.get("client_id") === APP_ID && form.get("client_secret") === APP_SECRET &&
      form.get("grant_type") === "client_credentials" &&
      form.get("scope") === "https://connector.test/.default";
    if (!isGood) {
      return Response.json({
        error: "invalid_client",
        error_description: "AADSTS7000215: Invalid client secret provided.",
      }, { status: 401 });
    }
    const token = `app-${++this.tokensMinted}-${crypto.randomUUID()}`;
    this.#tokens.add(token);
    return Response.json({ token_type: "Bearer", expires_in: 3_600, access_token: token });
  }

  async #connector(request: Request, pathname: string): Promise<Response> {
    const inline = request.method === "GET"
      ? this.files.inline(pathname, this.#tokens.has(bearerOf(request)))
      : undefined;
    if (inline !== undefined) return inline;
    const match = /^\/teams\/v3\/conversations\/([^/]+)\/activities(?:\/([^/]+))?$/.exec(pathname);
    if (match === null) {
      this.paths.push(pathname);
      return new Response(null, { status: 404 });
    }
    const text = await request.text();
    const body = JSON.parse(text) as Record<string, unknown>;
    const conversation = decodeURIComponent(match[1] ?? "");
    const activity = match[2] === undefined ? undefined : decodeURIComponent(match[2]);
    const { method } = request;
    const kind = kindOf(method, body);
    const at = this.#now();
    const note = (status: number) => {
      this.calls.push({ method, conversation, activity, kind, body, at, status });
    };
    if (this.#rules.asksForTokens && !this.#tokens.has(bearerOf(request))) {
      note(401);
      return answerOf(error(401, "Unauthorized", ""));
    }
    const act = (): KitAnswer => {
      const room = this.conversation(conversation);
      return room.admit(at) ??
        (method === "PUT"
          ? room.put(activity ?? "", body, text.length * 2, at)
          : room.post(body, text.length * 2, at));
    };
    const fault = this.#faultFor(kind);
    if (fault !== undefined) {
      note(0);
      return await faulty(fault, act);
    }
    const answer = act();
    note(answer.status);
    return answerOf(answer);
  }

  #faultFor(kind: string): FaultEffect | undefined {
    for (const scripted of this.#faults) {
      if (scripted.fault.kind !== kind || scripted.times === 0) continue;
      if (scripted.skip > 0) {
        scripted.skip--;
        continue;
      }
      scripted.times--;
      return scripted.fault.effect;
    }
    return undefined;
  }
}

async function faulty(effect: FaultEffect, act: () => KitAnswer): Promise<Response> {
  if ("answer" in effect) return answerOf(effect.answer);
  if ("response" in effect) return effect.response();
  if ("hold" in effect) {
    if (effect.hold === "after") act();
    effect.reached();
    await effect.release;
    return new Response(null, { status: 503 });
  }
  if ("cut" in effect) {
    if (effect.cut === "after") act();
    throw new TypeError("connection reset");
  }
  const done = act();
  if ("after" in effect) return answerOf(effect.after);
  return new Response(
    new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode("{"));
        controller.error(new TypeError("the body broke off"));
      },
    }),
    { status: done.status },
  );
}

function bearerOf(request: Request): string {
  return /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
}

function kindOf(method: string, body: Record<string, unknown>): string {
  if (method === "PUT") return "edit";
  const info = (body.entities as { type?: string; streamType?: string }[] | undefined)
    ?.find(({ type }) => type === "streaminfo");
  return info?.streamType ?? String(body.type);
}

function answerOf({ status, body, headers = {} }: KitAnswer): Response {
  return Response.json(body, { status, headers });
}

/** A kit that listens on loopback. */
export interface ServedKit extends AsyncDisposable {
  readonly kit: ConnectorKit;
  readonly origin: string;
}

/** Serves a kit on a free port of loopback. */
export async function serveKit(
  options: { readonly rules?: Partial<KitRules>; readonly port?: number } = {},
): Promise<ServedKit> {
  const ready = Promise.withResolvers<ConnectorKit>();
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: options.port ?? 0,
    onListen: () => {},
  }, async (request) => (await ready.promise).handle(request));
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const kit = await createConnectorKit({
    origin,
    ...defined({ rules: options.rules }),
  });
  ready.resolve(kit);
  return { kit, origin, [Symbol.asyncDispose]: () => server.shutdown() };
}

export { APP_ID, TENANT };
