/**
 * The tenant's file storage, in the kit: pre-authenticated downloads, upload sessions, and the
 * images of messages at the connector. Enforces which requests must and must not carry a token,
 * sizes, ranges, and that a session accepts one file once. No I/O.
 *
 * @module
 */

/** Host of the files of the kit's tenant. */
export const FILE_HOST = "contoso-my.sharepoint.com";

interface Held {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

/** An upload session. */
export interface UploadSession {
  readonly size: number;
  /** The uploaded bytes. */
  bytes: Uint8Array | undefined;
  isOver: boolean;
}

/** The file service. */
export class FileService {
  /** Violations of the rules by a client, one line each. */
  readonly violations: string[] = [];
  /** Requests, in order: method and path. */
  readonly requests: string[] = [];
  readonly #downloads = new Map<string, Held | (() => Response)>();
  readonly #sessions = new Map<string, UploadSession>();
  #failures: Response[] = [];
  #next = 1;

  /** Stores a file; returns its address, which is valid until `forget`. */
  keep(bytes: Uint8Array<ArrayBuffer>, type = "application/octet-stream"): string {
    return this.#address({ bytes, type });
  }

  /** Returns an address with a scripted response. */
  answer(respond: () => Response): string {
    return this.#address(respond);
  }

  /** Invalidates all addresses. */
  forget(): void {
    this.#downloads.clear();
  }

  /** Opens a session, as the platform does when an owner accepts. */
  openUpload(size: number): { readonly uploadUrl: string; readonly session: UploadSession } {
    const id = `/upload/${this.#next++}`;
    const session: UploadSession = { size, bytes: undefined, isOver: false };
    this.#sessions.set(id, session);
    return { uploadUrl: `https://${FILE_HOST}${id}?tempauth=secret-right`, session };
  }

  /** Answers the next uploads with these responses and stores nothing. */
  failUploads(...responses: readonly Response[]): void {
    this.#failures = [...responses];
  }

  /** Returns the response for an image at the connector; `path` is below its base. */
  inline(path: string, isTokenGood: boolean): Response | undefined {
    const held = this.#downloads.get(path);
    if (held === undefined) return undefined;
    if (!isTokenGood) return new Response(null, { status: 401 });
    return typeof held === "function" ? held() : bodyOf(held);
  }

  /** Stores an image at the connector. */
  keepInline(path: string, bytes: Uint8Array<ArrayBuffer>, type: string): void {
    this.#downloads.set(path, { bytes, type });
  }

  async handle(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.requests.push(`${request.method} ${pathname}`);
    if (request.headers.has("authorization")) {
      this.violations.push(`a token went to ${FILE_HOST}`);
    }
    if (request.method === "PUT") return await this.#put(pathname, request);
    const held = this.#downloads.get(pathname);
    if (held === undefined) return new Response(null, { status: 404 });
    return typeof held === "function" ? held() : bodyOf(held);
  }

  #address(held: Held | (() => Response)): string {
    const path = `/download/${this.#next++}`;
    this.#downloads.set(path, held);
    return `https://${FILE_HOST}${path}?tempauth=secret-right`;
  }

  async #put(path: string, request: Request): Promise<Response> {
    const bytes = new Uint8Array(await request.arrayBuffer());
    const failure = this.#failures.shift();
    if (failure !== undefined) return failure;
    const session = this.#sessions.get(path);
    if (session === undefined || session.isOver) return new Response(null, { status: 404 });
    const wanted = `bytes 0-${session.size - 1}/${session.size}`;
    if (request.headers.get("content-range") !== wanted || bytes.length !== session.size) {
      this.violations.push(`range ${request.headers.get("content-range")} of ${session.size}`);
      return new Response(null, { status: 416 });
    }
    session.bytes = bytes;
    session.isOver = true;
    return Response.json({ id: "1", name: "file" }, { status: 201 });
  }
}

/** A service that listens on loopback. */
export interface ServedFiles extends AsyncDisposable {
  readonly origin: string;
  /** Returns the loopback address for an address that the service issued. */
  at(url: string): string;
}

/** Serves the file service on a free port of loopback. */
export function serveFiles(service: FileService): ServedFiles {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => service.handle(request),
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  return {
    origin,
    at: (url) => url.replace(`https://${FILE_HOST}`, origin),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function bodyOf({ bytes, type }: Held): Response {
  return new Response(bytes, { headers: { "content-type": type } });
}
