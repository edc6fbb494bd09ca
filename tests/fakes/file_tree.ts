/**
 * The tree under the in-memory file system: nodes, path resolution through links, and atomic
 * replacement.
 *
 * @module
 */

import { FileFault } from "core/ports/files.ts";

interface Meta {
  mode: number;
  uid: number;
  gid: number;
  mtimeMs: number;
  readonly ino: number;
}

/** A file, a folder or a link. */
export type Node =
  | (Meta & { readonly kind: "file"; readonly bytes: Uint8Array })
  | (Meta & { readonly kind: "directory"; readonly entries: Map<string, Node> })
  | (Meta & { readonly kind: "symlink"; readonly target: string });

/** A folder. */
export type Folder = Extract<Node, { kind: "directory" }>;

interface Found {
  readonly node: Node;
  readonly path: string;
}

/** Links followed in one resolution before it counts as a loop. */
const LINKS_MAX = 40;

/** A tree of nodes; paths are absolute. */
export class FileTree {
  #inodes = 0;
  readonly #root: Folder;

  constructor(
    private readonly options: {
      readonly now: () => number;
      readonly uid: number | undefined;
      readonly gid: number | undefined;
    },
  ) {
    this.#root = this.#folder();
  }

  /** Returns the fault for an operation on a path. */
  fault(code: string, path: string, verb: string): FileFault {
    return new FileFault(code, path, `Cannot ${verb} ${JSON.stringify(path)}: ${code}`);
  }

  /** Creates a file node that is not in the tree yet. */
  file(bytes: Uint8Array, given: Partial<Meta>): Node {
    return { kind: "file", bytes, ...this.#meta(given, 0o644) };
  }

  /** Creates a link node that is not in the tree yet. */
  link(target: string): Node {
    return { kind: "symlink", target, ...this.#meta({}, 0o777) };
  }

  /**
   * Finds a node. Links inside the path are followed; a link at its end only when `follow` is set.
   */
  find(path: string, follow: boolean): Node | undefined {
    return this.#walk(path, follow, 0)?.node;
  }

  /** Returns the path without links; undefined when it does not exist. */
  realPath(path: string): string | undefined {
    return this.#walk(path, true, 0)?.path;
  }

  #walk(path: string, follow: boolean, links: number): Found | undefined {
    let node: Node = this.#root;
    const parts = split(path);
    for (const [index, part] of parts.entries()) {
      if (node.kind !== "directory") throw this.fault("ENOTDIR", path, "reach");
      const next: Node | undefined = node.entries.get(part);
      if (next === undefined) return undefined;
      const isLast = index === parts.length - 1;
      if (next.kind === "symlink" && (!isLast || follow)) {
        if (links >= LINKS_MAX) throw this.fault("ELOOP", path, "reach");
        const base = `/${parts.slice(0, index).join("/")}`;
        const rest = parts.slice(index + 1).join("/");
        const target = next.target.startsWith("/") ? next.target : `${base}/${next.target}`;
        return this.#walk(`${target}/${rest}`, follow, links + 1);
      }
      node = next;
    }
    return { node, path: `/${parts.join("/")}` };
  }

  /** Creates a folder and its missing parents, and returns it. */
  makeFolders(path: string): Folder {
    const parts = split(path);
    let node: Folder = this.#root;
    for (let count = 1; count <= parts.length; count++) {
      const at = `/${parts.slice(0, count).join("/")}`;
      let next = this.find(at, true);
      if (next === undefined) {
        next = this.#folder();
        node.entries.set(parts[count - 1] ?? "", next);
      }
      if (next.kind !== "directory") throw this.fault("ENOTDIR", at, "create");
      node = next;
    }
    return node;
  }

  /**
   * Puts a node at a path in one step. Fails when a folder would be replaced by something else, or
   * is not empty.
   */
  replace(path: string, node: Node, verb: string): void {
    const [parent, name] = this.#parentOf(path, verb);
    const before = parent.entries.get(name);
    if (before?.kind === "directory") {
      if (node.kind !== "directory") throw this.fault("EISDIR", path, verb);
      if (before.entries.size > 0) throw this.fault("EEXIST", path, verb);
    }
    parent.entries.set(name, node);
  }

  /** Removes a node and everything below it. */
  drop(path: string): void {
    const [parent, name] = this.#parentOf(path, "remove");
    parent.entries.delete(name);
  }

  /** Returns the paths of all files and links, sorted. */
  leaves(): readonly string[] {
    const found: string[] = [];
    const walk = (at: string, node: Folder) => {
      for (const [name, child] of node.entries) {
        if (child.kind === "directory") walk(`${at}/${name}`, child);
        else found.push(`${at}/${name}`);
      }
    };
    walk("", this.#root);
    return found.sort();
  }

  #parentOf(path: string, verb: string): readonly [Folder, string] {
    const parts = split(path);
    const name = parts.pop();
    if (name === undefined) throw this.fault("EISDIR", path, verb);
    const parent = this.find(`/${parts.join("/")}`, true);
    if (parent === undefined) throw this.fault("ENOENT", path, verb);
    if (parent.kind !== "directory") throw this.fault("ENOTDIR", path, verb);
    return [parent, name];
  }

  #folder(): Folder {
    return { kind: "directory", entries: new Map(), ...this.#meta({}, 0o755) };
  }

  #meta(given: Partial<Meta>, mode: number): Meta {
    return {
      mode: given.mode ?? mode,
      uid: given.uid ?? this.options.uid ?? 0,
      gid: given.gid ?? this.options.gid ?? 0,
      mtimeMs: this.options.now(),
      ino: ++this.#inodes,
    };
  }
}

function split(path: string): string[] {
  if (!path.startsWith("/")) {
    throw new TypeError(`Cannot use ${JSON.stringify(path)}: not absolute`);
  }
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts;
}
