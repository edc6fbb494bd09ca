/**
 * The control files of the Debian package, as text. Pure.
 *
 * Installation creates accounts and folders, renders the host (which creates its keys), and starts
 * the daemon where systemd runs. Removal stops the running units and keeps the fleet. A purge
 * removes everything that fleetctl wrote outside the agents' homes; the agents' Unix users remain.
 *
 * @module
 */

import postinst from "units/package/maintainer/postinst.sh" with { type: "text" };
import postrm from "units/package/maintainer/postrm.sh" with { type: "text" };
import preinst from "units/package/maintainer/preinst.sh" with { type: "text" };
import prerm from "units/package/maintainer/prerm.sh" with { type: "text" };

/** Debian's names of architectures. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

/** Returns Debian's name of an architecture. */
export function debianArchitecture(arch: string): string {
  return ARCHITECTURES[arch] ?? arch;
}

/** Contact for the package; the changelog ends with the same line. */
export const MAINTAINER = "fleetctl maintainers <fleetctl@fleetctl.invalid>";

/** Renders `control`. */
export function controlText(
  about: { readonly version: string; readonly arch: string; readonly kilobytes: number },
): string {
  return `Package: fleetctl
Version: ${about.version}
Architecture: ${debianArchitecture(about.arch)}
Maintainer: ${MAINTAINER}
Installed-Size: ${about.kilobytes}
Depends: libc6 (>= 2.31), libgcc-s1, git, passwd, procps
Recommends: systemd, dbus, iproute2, ca-certificates, curl, age, vim-tiny | nvi, bash-completion
Suggests: bubblewrap, chromium, python3-pip
Section: admin
Priority: optional
Description: fleet of long-lived agents on your own hosts
 One command-line tool and a root daemon manage agents, their vendored MCP
 tool servers and their gateways. Contains its own pinned Deno.
`;
}

/** The maintainer scripts, by name. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  preinst,
  postinst,
  prerm,
  postrm,
};

/**
 * Overrides for Debian's package checker, about files that are shipped unchanged from elsewhere.
 */
export const LINTIAN_OVERRIDES =
  `# Deno is shipped as its authors built it: it links its libraries statically.
fleetctl: embedded-library *
fleetctl: hardening-no-relro *
`;

/** A package inside the programs, with its license terms. */
export interface Ingredient {
  readonly name: string;
  readonly license: string | undefined;
}

const MIT =
  `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Renders `copyright`: the contents of the package and their terms. */
export function copyrightText(ingredients: readonly Ingredient[]): string {
  const parts = [
    "fleetctl\nCopyright: the fleetctl maintainers",
    `usr/lib/fleetctl/deno\nCopyright: the Deno authors\n\n${MIT}`,
    ...ingredients.map(({ name, license }) =>
      `usr/lib/fleetctl/programs: ${name}\n\n${
        license === undefined ? "It contains no license file." : termsOf(license)
      }`
    ),
  ];
  return `${parts.join(`\n\n${"-".repeat(72)}\n\n`)}\n`;
}

/** Every Debian host has the text of this license, so the package only refers to that file. */
function termsOf(license: string): string {
  if (!/Apache License\s+Version 2\.0, January 2004/.test(license)) return license.trim();
  const owners = license.split("\n").map((line) => line.trim())
    .filter((line) => /^Copyright (?!\[yyyy\])/.test(line));
  return [
    ...owners,
    "Apache License, Version 2.0: /usr/share/common-licenses/Apache-2.0",
  ].join("\n");
}
