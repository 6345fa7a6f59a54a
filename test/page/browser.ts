/** Debian's Chromium, and pages in it that report whatever the browser refuses. */
import { existsSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';

export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);

let browser: Browser | undefined;

/** One browser for the tests of a file. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (chromiumPath === undefined) return;
    // Root, which CI is, has no sandbox of its own.
    browser = await chromium.launch({
      executablePath: chromiumPath,
      args: ['--no-sandbox', '--disable-gpu'],
    });
  });
  afterAll(async () => {
    await browser?.close();
  });
}

export interface TestPage {
  readonly page: Page;
  /** What the policy refused, and errors that nobody caught, so far. A test that provokes one takes it out. */
  readonly faults: string[];
}

/** An empty tab that is closed after the test, which fails if the page broke its own policy. */
export async function newPage(options: BrowserContextOptions = {}): Promise<TestPage> {
  if (browser === undefined) throw new Error('No browser runs.');
  const context = await browser.newContext({ locale: 'en-US', timezoneId: 'Asia/Kolkata', ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refused request is in the console as well; how the page takes it is what tests look at.
    if (/Content Security Policy|Trusted ?Type|Uncaught/i.test(message.text())) faults.push(message.text());
  });
  // What a browser would send to a report-uri, in every document of the tab.
  await page.exposeFunction('policyRefused', (what: string) => faults.push(`policy: ${what}`));
  await page.addInitScript(() => {
    const tab = globalThis as unknown as ReportingTab;
    tab.document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      tab.policyRefused(`${violatedDirective} ${blockedURI}`),
    );
  });
  onTestFinished(async () => {
    await context.close();
    expect(faults).toEqual([]);
  });
  return { page, faults };
}

interface ReportingTab {
  readonly document: {
    addEventListener(
      type: 'securitypolicyviolation',
      listener: (event: { readonly violatedDirective: string; readonly blockedURI: string }) => void,
    ): void;
  };
  policyRefused(what: string): void;
}

/** What axe has against the page as it is now, as rule and element. */
export async function violations(page: Page): Promise<readonly string[]> {
  const { violations: found } = await new AxeBuilder({ page }).analyze();
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

/** What the tests read of a tab: they are compiled for Node, which has no such globals. */
interface TabGlobals {
  readonly document: { readonly cookie: string; readonly documentElement: { readonly scrollWidth: number } };
  readonly innerWidth: number;
  readonly localStorage: { readonly length: number };
  readonly sessionStorage: { readonly length: number };
}

/** How much wider than the window the page is. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { document, innerWidth } = globalThis as unknown as TabGlobals;
    return document.documentElement.scrollWidth - innerWidth;
  });
}

/** What the page keeps, where a tab can keep something. */
export function keptBy(page: Page): Promise<{ local: number; session: number; cookie: string }> {
  return page.evaluate(() => {
    const { document, localStorage, sessionStorage } = globalThis as unknown as TabGlobals;
    return { local: localStorage.length, session: sessionStorage.length, cookie: document.cookie };
  });
}
