/**
 * Faults that an operator meets in production. For each, `fleetctl status` must name the cause and
 * the commands that fix it. The test runs those commands verbatim, and then no problem remains.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type BootedHost, poll } from "tests/support/booted_host.ts";

/** One fault. */
interface OperatorFault {
  readonly name: string;
  /** Shell script that causes the fault. */
  readonly inject: string;
  /** Code of the problem that names the cause. */
  readonly code: string;
  /** What the problem's message or details must match. */
  readonly says: RegExp;
  /** Shell script that removes the precondition of the fault, but not the fault itself. */
  readonly after?: string;
}

/** One problem of `status --json`. */
interface Problem {
  readonly code: string;
  readonly message: string;
  readonly details: readonly string[];
  readonly hints: readonly string[];
}

const GATEWAY_DB = "/var/lib/fleetctl/gateway/gateway.db";
const DIAL_DB = "/home/ada/.fleetctl/dial/dial.db";
const STATE = "/var/lib/fleetctl";
const DAMAGE = "dd if=/dev/urandom bs=4096 count=3 conv=notrunc status=none";

const FAULTS: readonly OperatorFault[] = [
  {
    name: "the socket file of an MCP is removed",
    inject: "rm /run/mcp/keyed-ada.sock",
    code: "socket-lost",
    says: /"\/run\/mcp\/keyed-ada\.sock" of mcp-keyed-ada\.socket .*its file is gone/,
  },
  {
    name: "the socket file of the daemon is removed",
    inject: "rm /run/fleetctl/fleetctl.sock",
    code: "socket-lost",
    says: /"\/run\/fleetctl\/fleetctl\.sock" of fleetctl-daemon\.service .*its file is gone/,
  },
  {
    name: "another service took the port of the gateway",
    inject: `systemctl stop fleetctl-gateway.service
      systemd-run -q --unit=squatter socat TCP-LISTEN:8735,fork,reuseaddr /dev/null
      until grep -q :221F /proc/net/tcp; do :; done
      systemctl start fleetctl-gateway.service`,
    code: "role-down",
    says: /port 8735 is held by socat \(pid \d+\) of user root, which belongs to squatter\.service/,
  },
  {
    name: "a program that a person started by hand has the port",
    inject: `systemctl stop fleetctl-gateway.service
      setsid socat TCP-LISTEN:8735,fork,reuseaddr /dev/null >/dev/null 2>&1 &
      until grep -q :221F /proc/net/tcp; do :; done
      systemctl start fleetctl-gateway.service`,
    code: "role-down",
    says: /the port is taken\nport 8735 is held by socat \(pid \d+\) of user root$/m,
  },
  {
    name: "the database of the gateway was restored as root",
    inject: `systemctl stop fleetctl-gateway.service
      chown root:root ${GATEWAY_DB}*; systemctl start fleetctl-gateway.service`,
    code: "state-owner-wrong",
    says: /gateway\.db.*" is root:root 0600, must be fleetctl-gateway:fleetctl-gateway/,
  },
  {
    name: "the database of the gateway is damaged",
    inject: `systemctl stop fleetctl-gateway.service
      ${DAMAGE} of=${GATEWAY_DB}; systemctl start fleetctl-gateway.service`,
    code: "role-down",
    says: /last error: .*gateway\.db.*\nWithout it: transcripts and waiting turns are gone/,
  },
  {
    name: "the database of an agent is damaged",
    inject: `systemctl stop fleetctl-dial-ada.service
      ${DAMAGE} of=${DIAL_DB}; systemctl start fleetctl-dial-ada.service`,
    code: "agent-not-connected",
    says: /last error: .*dial\.db.*\nWithout it: events/,
  },
  {
    name: "the home of an agent was restored as root",
    inject: `systemctl stop fleetctl-dial-ada.service
      chown -R root:root /home/ada/.fleetctl; systemctl start fleetctl-dial-ada.service`,
    code: "agent-not-connected",
    says: /permission denied\n"\/home\/ada\/\S+" belongs to root, must belong to ada/,
  },
  {
    name: "the home folder itself was restored as root",
    inject: `systemctl stop fleetctl-dial-ada.service
      chown root:root /home/ada; chmod 700 /home/ada
      systemctl start fleetctl-dial-ada.service || true`,
    code: "agent-not-connected",
    says: /Failed at step CHDIR .*\n"\/home\/ada" belongs to root, must belong to ada/,
  },
  {
    name: "the secrets of an agent were restored with a foreign group",
    inject: "chgrp games /etc/fleetctl/env/agent-ada.env",
    code: "state-exposed",
    says: /agent-ada\.env" is root:games 0640, must be root:ada 0640.*\n.*could read the secrets/,
  },
  {
    name: "the certificate of the front was renewed, and its server never read it",
    inject: `${certificate(-1)}; systemctl reload-or-restart nginx.service; ${certificate(90)}`,
    code: "certificate-expired",
    says: /^The certificate of https:\/\/fleet\.example\.org expired.*\n.*nginx of nginx\.service/,
  },
  {
    name: "the disk of the state is full",
    inject: `size=$(( $(du -sm ${STATE} | cut -f1) + 90 ))
      ${
      withRolesStopped(`mount -t tmpfs -o size="$size"m,mode=755 tmpfs /mnt
        cp -a ${STATE}/. /mnt; mount --bind /mnt ${STATE}`)
    }
      mkdir ${STATE}/deploy/gone; cd ${STATE}/deploy/gone
      for name in a b; do cat /dev/zero > $name 2>/dev/null; done
      touch -d '90 days ago' ${STATE}/deploy/gone`,
    code: "disk-full",
    says: /^The disk at "\/var\/lib\/fleetctl" is full: 0\.\d MiB left/,
    after: withRolesStopped(`umount ${STATE} /mnt`),
  },
];

/**
 * Makes a certificate for the front that expires in `days`; a negative number gives an expired one.
 */
function certificate(days: number): string {
  const made = "openssl x509 -req -in /etc/ssl/fleet.csr -signkey /etc/ssl/fleet.key";
  return `${made} -days ${days} -copy_extensions copyall -out /etc/ssl/fleet.pem 2>/dev/null`;
}

/** Returns a script that runs while no process of the product has files open. */
function withRolesStopped(script: string): string {
  const units = "fleetctl-daemon fleetctl-gateway fleetctl-host fleetctl-login";
  return `systemctl stop ${units}; ${script}; systemctl start ${units}`;
}

/** A login proxy behind an HTTPS front of this host, as docs/login.md describes it. */
const FRONT = `
  openssl req -new -newkey rsa:2048 -nodes -keyout /etc/ssl/fleet.key -out /etc/ssl/fleet.csr \\
    -subj /CN=fleet.example.org -addext subjectAltName=DNS:fleet.example.org 2>/dev/null
  ${certificate(90)}
  rm -f /etc/nginx/sites-enabled/*
  echo 'server { listen 443 ssl; server_name fleet.example.org;
    ssl_certificate /etc/ssl/fleet.pem; ssl_certificate_key /etc/ssl/fleet.key; }' \\
    > /etc/nginx/conf.d/fleet.conf
  systemctl restart nginx.service
  echo 'ada@example.org:hunter2hunter2' | fleetctl secret set WEBVIEW_BASIC_USERS --value -
  fleetctl webview-login install --driver basic --url https://fleet.example.org
`;

/** Causes each fault, runs the commands that `status` prints, and checks that they fixed it. */
export async function checkOperatorFaults(host: BootedHost): Promise<void> {
  await host.must("sh", "-ec", FRONT);
  await untilFine(host, "before the first fault");
  for (const fault of FAULTS) await checkFault(host, fault);
}

async function checkFault(host: BootedHost, fault: OperatorFault): Promise<void> {
  await host.must("sh", "-c", fault.inject);
  const problem = await poll(`${fault.code} of: ${fault.name}`, async () => {
    const { problems, exit } = await look(host);
    assert.equal(exit === 0, problems.length === 0, "the exit code says whether all is well");
    return problems.find(({ code, message, details }) =>
      code === fault.code && fault.says.test([message, ...details].join("\n"))
    );
  });
  assert.ok(problem.hints.length > 0, `${fault.name}: no command`);
  for (const hint of problem.hints) {
    const ended = await host.exec(["sh", "-c", hint]);
    assert.equal(ended.code, 0, `${fault.name}: ${hint}\n${ended.out}${ended.err}`);
  }
  await untilFine(host, `after ${problem.hints.join("; ")}`);
  if (fault.after === undefined) return;
  await host.must("sh", "-c", fault.after);
  await untilFine(host, `after the end of: ${fault.name}`);
}

async function look(host: BootedHost) {
  const { out, code } = await host.exec(["fleetctl", "status", "--json"]);
  const { problems } = JSON.parse(out) as { readonly problems: readonly Problem[] };
  return { problems, exit: code };
}

/** A restarted service needs a moment, so this polls. */
async function untilFine(host: BootedHost, when: string): Promise<void> {
  let last = "";
  await poll(`host without a problem ${when}`, async () => {
    const { problems } = await look(host);
    last = JSON.stringify(problems);
    return problems.length === 0 ? true : undefined;
  }).catch((thrown) => assert.fail(`${thrown}\n${last}`));
}
