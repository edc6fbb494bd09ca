/**
 * The screens that tests check, the same each time, for pictures and for accessibility.
 *
 * @module
 */

import type { Page } from "playwright-core";
import { scriptedModels } from "tests/support/scripted_models.ts";
import { APPLIED_PARTLY, playHosts } from "tests/support/hosts_story.ts";
import { type PageScene, startScene } from "tests/support/page_scene.ts";
import {
  playConversation,
  playFleet,
  playQuestions,
  playStreaming,
  STREAMED,
} from "tests/support/page_story.ts";

/** One screen. */
export interface Screen {
  readonly name: string;
  /** Email of the viewer. */
  readonly email?: string;
  /** Brings a page to the screen and waits until its content is visible. */
  readonly show: (scene: PageScene, page: Page) => Promise<void>;
}

/** All screens. */
export const SCREENS: readonly Screen[] = [
  {
    name: "list",
    show: async (scene, page) => {
      await playConversation(scene);
      await page.goto(scene.url);
      await page.locator(".agent-row").nth(2).waitFor();
      if ((page.viewportSize()?.width ?? 0) > 700) await page.locator(".outcome").waitFor();
    },
  },
  {
    name: "transcript",
    show: async (scene, page) => {
      await playConversation(scene);
      await page.goto(`${scene.url}/agents/ada`);
      await page.locator(".outcome").waitFor();
      await page.locator("summary", { hasText: "git_log" }).click();
      await page.locator("pre", { hasText: "Mia Holm" }).waitFor();
      await page.evaluate("document.querySelector('.pane').scrollTo(0, 0)");
    },
  },
  {
    name: "streaming",
    show: async (scene, page) => {
      const ada = await playConversation(scene);
      const turnId = await playStreaming(scene, ada);
      await page.goto(`${scene.url}/agents/ada`);
      await page.locator(".working").waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
      ada.preview(turnId, "m9", STREAMED, 0);
      await page.locator(".is-live li").nth(3).waitFor();
    },
  },
  {
    name: "question",
    show: async (scene, page) => {
      const ada = await playConversation(scene);
      const turnId = await playStreaming(scene, ada);
      await playQuestions(ada, turnId);
      await page.goto(`${scene.url}/agents/ada`);
      await page.locator(".question-card").waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
      await page.getByRole("radio", { name: "Friday" }).check();
    },
  },
  {
    name: "offline",
    show: async (scene, page) => {
      await playConversation(scene);
      await page.goto(`${scene.url}/agents/ada`);
      await page.locator(".outcome").waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
      scene.network.refuse(true);
      scene.network.cut();
      await page.locator(".pill").waitFor();
      await page.getByLabel("Message to ada").fill("And now write the release notes.");
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator(".queue-row").waitFor();
    },
  },
  {
    name: "error",
    email: "bob@example.org",
    show: async (scene, page) => {
      await playFleet(scene);
      await page.goto(`${scene.url}/agents/ada`);
      await page.getByRole("heading", { name: "Cannot show this agent" }).waitFor();
      await page.locator(".agent-row").waitFor({ state: "attached" });
    },
  },
  {
    name: "empty",
    show: async (scene, page) => {
      await playFleet(scene);
      await page.goto(`${scene.url}/agents/ada`);
      await page.getByRole("heading", { name: "Hello, I am Ada." }).waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
    },
  },
  {
    name: "model",
    show: async (scene, page) => {
      await playFleet(scene);
      await page.goto(`${scene.url}/agents/ada`);
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
      await page.getByRole("button", { name: "connect a real model" }).click();
      await page.getByRole("radio", { name: "Another endpoint" }).click();
      await page.getByLabel("Address").fill("https://models.example/v1");
      await page.getByLabel("Model", { exact: true }).fill("big-1");
      await page.getByLabel("Key", { exact: true }).fill("not the key");
      await page.getByRole("button", { name: "Test and connect" }).click();
      await page.getByText("The key is not accepted").waitFor();
    },
  },
  {
    name: "hosts",
    show: async (scene, page) => {
      await playFleet(scene);
      await playHosts(scene);
      await page.goto(`${scene.url}/hosts`);
      await page.getByText("No problems").waitFor();
      await page.getByText("2 problems").waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
    },
  },
  {
    name: "host-job",
    show: async (scene, page) => {
      await playFleet(scene);
      const { boreas, forge } = await playHosts(scene);
      await page.goto(`${scene.url}/hosts`);
      await page.getByText("2 problems").waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
      await page.getByRole("button", { name: "Apply on boreas" }).click();
      await page.getByRole("button", { name: "Apply", exact: true }).click();
      boreas.done(await boreas.take(), APPLIED_PARTLY, 1);
      await page.getByText("WEBVIEW_BASIC_USERS is empty").waitFor();
      await page.getByRole("button", { name: "Apply on forge" }).click();
      await page.getByRole("button", { name: "Apply", exact: true }).click();
      forge.says(await forge.take(), "[3/12] vendor browser");
      await page.getByText("vendor browser").waitFor();
      await page.getByText("Units, agents and jobs of boreas").click();
      await page.getByRole("button", { name: "boreas", exact: true }).click();
    },
  },
  {
    name: "host-apply",
    show: async (scene, page) => {
      const ada = await playFleet(scene);
      await ada.state("working");
      await playHosts(scene);
      await page.goto(`${scene.url}/hosts`);
      await page.getByText("2 problems").waitFor();
      await page.getByText("No problems").waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
      await page.getByRole("button", { name: "Apply to all…" }).click();
      await page.getByText("A restart ends it.").waitFor();
    },
  },
  {
    name: "hosts-empty",
    show: async (scene, page) => {
      await playFleet(scene);
      await page.goto(`${scene.url}/hosts`);
      await page.getByRole("heading", { name: "No hosts enrolled yet" }).waitFor();
      await page.locator(".agent-row").nth(2).waitFor({ state: "attached" });
    },
  },
];

/** Starts a scene for a screen. */
export function sceneOf(screen: Screen): Promise<PageScene> {
  return startScene(screen.email, { verbs: scriptedModels() });
}
