/**
 * Which files may import which package (law 4). The reasons are in `docs/dependencies.md`.
 *
 * @module
 */

const TESTS = /^tests\//;

/** Package name → the files of the product that may import it. */
export const THIRD_PARTY: Readonly<Record<string, readonly RegExp[]>> = {
  "@agentclientprotocol/sdk": [
    /^cli\/acp\//,
    /^units\/dial\/runtimes\/acp.*\.ts$/,
    /^units\/agent_loop\//,
    TESTS,
  ],
  "@ai-sdk/anthropic": [/^units\/agent_loop\//],
  "@ai-sdk/openai": [/^units\/agent_loop\//],
  "@ai-sdk/openai-compatible": [/^units\/agent_loop\//],
  "@axe-core/playwright": [TESTS],
  "@modelcontextprotocol/client": [
    /^core\/os\/mcp_http\.ts$/,
    /^cli\/os\/mcp_(client|questions)\.ts$/,
    /^units\/(mcp|agent_loop)\//,
    TESTS,
  ],
  "@modelcontextprotocol/server": [/^units\/mcp\//, TESTS],
  "@preact/signals": [/^gateway\/web\//],
  "@types/ws": [/^core\/os\/websocket.*\.ts$/],
  "age-encryption": [/^core\/secrets\/envelope\.ts$/],
  "ai": [/^units\/agent_loop\//],
  "eventsource-parser": [/^cli\/up\/.*\.ts$/, /^gateway\/web\/device\//, TESTS],
  "fast-check": [TESTS],
  "hash-wasm": [/^(core\/login\/password|login\/os\/slow_hashes)\.ts$/, TESTS],
  "hono": [/\/app\.ts$/, /\/routes\//, /^gateway\/cockpit\//, TESTS],
  "jose": [
    /^core\/access\/assertion\.ts$/,
    /^teamchat\/inbound\/(connector_token|key_set)\.ts$/,
    TESTS,
  ],
  "marked": [/^gateway\/web\/(state\/markdown\.ts|view\/markdown\.tsx)$/],
  "oauth4webapi": [/^login\/oidc\//],
  "oidc-provider": [TESTS],
  "playwright-core": [TESTS],
  "preact": [/^gateway\/web\//],
  "undici": [/^tests\/core\/http1\/os\/llhttp\.ts$/],
  "ws": [/^core\/os\/websocket.*\.ts$/],
  "yaml": [/^core\/text\/yaml\.ts$/],
  "zod": [
    /^cli\/ceilings\//,
    /^core\/dial\//,
    /^core\/teamchat\//,
    /^core\/access\//,
    /^gateway\//,
    /^teamchat\//,
    /^units\/(mcp|agent_loop|dial|daemon)\//,
    /^core\/verbs\//,
    /^core\/runtimes\//,
    /^core\/risk\//,
    TESTS,
  ],
};
