import { type BrowserContext, expect, type Request } from '@playwright/test';

/** Chromium confirms the header of every sign-out. */
const CONFIRMED = /^info: Clear-Site-Data header on .* Cleared data types: "cookies", "storage"/;

/**
 * Four questions of a person are answered at once (record 0029): on a slow machine those of a page that was left may be under way, and
 * the next page asks again.
 */
const ASKED_AGAIN = /^error: Failed to load resource: .* status of 429 /;

/** In a page: once it has drawn what has come. */
const DRAWN = 'new Promise((drawn) => requestIdleCallback(() => drawn()))';

/** What no page may do: print, break the policy, or ask another origin for anything. */
export class PageWatch {
  private readonly seen: string[] = [];
  private readonly provoked: RegExp[] = [];
  private readonly origins: Set<string>;
  private readonly open = new Set<Request>();
  private begun = 0;

  constructor(
    private readonly context: BrowserContext,
    ownOrigin: string,
  ) {
    this.origins = new Set([ownOrigin]);
    // The policy's reports are among the messages.
    context.on('console', (message) => {
      this.seen.push(`${message.type()}: ${message.text()} (on ${message.page()?.url() ?? 'no page'})`);
    });
    context.on('weberror', (error) => this.seen.push(`error: ${error.error().message}`));
    context.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (!this.origins.has(origin)) this.seen.push(`request: ${protocol === 'data:' ? 'data:' : request.url()}`);
      this.open.add(request);
      this.begun += 1;
    });
    const ended = (request: Request): void => void this.open.delete(request);
    context.on('requestfinished', ended);
    context.on('requestfailed', ended);
  }

  /** The test provokes a refusal of that status, or that failure of the network, and a browser prints each. */
  provokes(...failures: (number | `net::ERR_${string}`)[]): void {
    for (const failure of failures) {
      const text = typeof failure === 'number' ? `.* status of ${failure} ` : failure;
      this.provoked.push(new RegExp(`^error: Failed to load resource: ${text}`));
    }
  }

  /** The test has a page of that origin. */
  knows(origin: string): void {
    this.origins.add(origin);
  }

  /** Waits until every request has its answer and no other follows: what a page shows then is what it was asked for. */
  async settled(): Promise<void> {
    let before = -1;
    const isQuiet = async (): Promise<boolean> => {
      await Promise.all(this.context.pages().map((page) => page.evaluate(DRAWN).catch(() => undefined)));
      const isSame = this.begun === before && this.open.size === 0;
      before = this.begun;
      return isSame;
    };
    await expect.poll(isQuiet, { intervals: [250] }).toBe(true);
  }

  /** All that was seen and was not provoked, and refusals that did not come. */
  findings(): string[] {
    const known = (text: string): boolean =>
      [CONFIRMED, ASKED_AGAIN, ...this.provoked].some((pattern) => pattern.test(text));
    const missing = this.provoked.filter((pattern) => !this.seen.some((text) => pattern.test(text)));
    return [...this.seen.filter((text) => !known(text)), ...missing.map(({ source }) => `did not come: ${source}`)];
  }
}
