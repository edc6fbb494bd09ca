/**
 * A person with a browser at the HTTPS front of a booted host: signs in with the form, sends turns
 * and reads their events. `curl` inside the host stands in for the browser.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { PackagedHost } from "tests/support/packaged_host.ts";

/** The host name in the README's commands. */
export const FRONT_NAME = "cockpit.example.org";

/**
 * `ask …` sends a request of this person through the front, with cookies, as a page of the site.
 */
const ASK = `
set -eu
name=$1 jar=/tmp/jar-$2
shift 2
ca=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
ask() {
  curl -sS --max-time 50 --cacert "$ca" --resolve "$name:443:127.0.0.1" -b "$jar" -c "$jar" \\
    -H "origin: https://$name" "$@"
}
`;
/** Reads the password from stdin; prints the status of the POST and its redirect target. */
const SIGN_IN = `
touch "$jar"
csrf=$(ask -H 'accept: text/html' "https://$name/auth/login" |
  sed -n 's/.*name="csrf" value="\\([^"]*\\)".*/\\1/p')
ask -o /dev/null -w '%{http_code} %{redirect_url}' -H 'accept: text/html' \\
  --data-urlencode "csrf=$csrf" --data-urlencode "user=$1" --data-urlencode password@- \\
  --data-urlencode next=/ "https://$name/auth/login"
`;
/** Follows the transcript, sends the turn once the stream has begun, and prints the events. */
const TURN = `
events=$(mktemp)
ask -N -H 'accept: text/event-stream' "https://$name/events?topics=transcript:$1" > "$events" &
stream=$!
timeout 40 grep -q -m1 . < <(exec tail -f -n +1 "$events")
key=$(cat /proc/sys/kernel/random/uuid)
ask -o /dev/null -f -H 'content-type: application/json' -H "idempotency-key: $key" \\
  -d "{\\"agent\\":\\"$1\\",\\"text\\":\\"$2\\"}" "https://$name/api/turns"
timeout 40 grep -q -m1 '^event: turn_ended' < <(exec tail -f -n +1 "$events")
kill $stream
cat "$events"
`;

/** One person, signed in or not. */
export class Person {
  readonly login: { readonly address: string; readonly password: string };
  readonly #scene: PackagedHost;

  constructor(
    scene: PackagedHost,
    login: { readonly address: string; readonly password: string },
  ) {
    this.#scene = scene;
    this.login = login;
  }

  /** The agent that this person owns. */
  get agent(): string {
    return this.login.address.split("@")[0] ?? "";
  }

  async #ask(script: string, words: readonly string[], input = ""): Promise<string> {
    const { code, out, err } = await this.#scene.run(
      ["bash", "-c", ASK + script, "bash", FRONT_NAME, this.agent, ...words],
      { input },
    );
    assert.equal(code, 0, out + err);
    return out;
  }

  /** Signs in with the form; throws when the proxy refuses. */
  async signIn(): Promise<void> {
    const answer = await this.#ask(SIGN_IN, [this.login.address], this.login.password);
    assert.equal(answer, `303 https://${FRONT_NAME}/`);
  }

  /** Sends a turn to the person's own agent; returns its events as text. */
  turn(text: string): Promise<string> {
    return this.#ask(TURN, [this.agent, text]);
  }

  /** Another user's agent is not shown, accepts no turn, and does not reveal its events. */
  async checkStranger(other: string): Promise<void> {
    const agents = await this.#ask(`ask "https://$name/api/agents"`, []);
    assert.ok(agents.includes(`"${this.agent}"`) && !agents.includes(`"${other}"`), agents);
    const status = `-o /dev/null -w '%{http_code}'`;
    const turn = await this.#ask(
      `ask ${status} -H 'content-type: application/json' -H 'idempotency-key: k-1' \\
        -d "{\\"agent\\":\\"$1\\",\\"text\\":\\"hello\\"}" "https://$name/api/turns"`,
      [other],
    );
    assert.equal(turn, "403");
    const events = await this.#ask(
      `ask ${status} "https://$name/events?topics=transcript:$1"`,
      [other],
    );
    assert.equal(events, "403");
  }
}
