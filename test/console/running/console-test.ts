import { type BrowserContext, test as base } from '@playwright/test';
import { type ApiClient, passwordOf } from '../../support/service/api-client.js';
import { Grantline } from './grantline.js';
import { PageWatch } from './page-watch.js';
import { Records } from './records.js';

interface ForWorker {
  /** Settings of the service; a file that overrides them has a worker and a service of its own, five seconds. */
  environment: Record<string, string>;
  grantline: Grantline;
  /** Signed in to the API as the administrator `admin`. */
  admin: ApiClient;
  records: Records;
}

interface ForTest {
  /** Fails the test for whatever its pages print or ask of other origins. */
  watch: PageWatch;
  /** Signs the browser in, as the session's route does it; the page is still to be opened. */
  signIn: (username: string) => Promise<void>;
}

export const test = base.extend<ForTest, ForWorker>({
  environment: [{}, { scope: 'worker', option: true }],
  grantline: [
    async ({ environment }, use) => {
      const grantline = await Grantline.start(environment);
      await use(grantline);
      await grantline.stop();
    },
    { scope: 'worker', timeout: 180_000 },
  ],
  admin: [async ({ grantline }, use) => use(await grantline.createAdministrator()), { scope: 'worker' }],
  records: [async ({ admin }, use) => use(new Records(admin)), { scope: 'worker' }],
  baseURL: async ({ grantline }, use) => use(grantline.url),
  watch: [
    async ({ context, grantline }, use) => {
      const watch = new PageWatch(context, grantline.url);
      await use(watch);
      // A browser may print a refusal after its page has shown it.
      await test.expect.poll(() => watch.findings()).toEqual([]);
    },
    { auto: true },
  ],
  signIn: async ({ context, grantline }, use) => use((username) => openSession(context, grantline.url, username)),
});

export { expect } from '@playwright/test';
export { passwordOf };

/** The cookie of a new session in the browser. */
export async function openSession(context: BrowserContext, url: string, username: string): Promise<void> {
  const answer = await context.request.post(`${url}/api/auth/console-session`, {
    data: { username, password: passwordOf(username) },
    headers: { 'Sec-Fetch-Site': 'same-origin' }, // of somebody who is signed in already
  });
  if (answer.status() !== 204) throw new Error(await answer.text());
}
