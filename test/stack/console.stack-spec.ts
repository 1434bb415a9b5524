import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, expect as expectSoon, type Page } from '@playwright/test';
import { Client } from 'pg';

import { installBrowser } from '../console/running/browser.js';
import { PageWatch } from '../console/running/page-watch.js';
import { Deployment } from './loop/deployment.js';
import { emptyRules } from './running/config-map.js';
import { READABLE_CATALOG, startGrantline } from './running/grantline.js';
import { Processes } from './running/processes.js';
import { forPeople } from './sign-in/for-people.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const { people } = stack.realm;
const count = (schema: string): string => `SELECT count(*) FROM ${READABLE_CATALOG}.${schema}.nation`;
const REFUSED = 'The engine refused this statement';

/** The provider's form, Trino's answer, a publication. */
const on = expectSoon.configure({ timeout: 30_000 });

/** Somebody with a browser of their own. */
interface Visitor {
  page: Page;
  watch: PageWatch;
}

describe('the console in a browser, on the real parts', () => {
  const processes = new Processes(mkdtempSync(join(stack.folder, 'console-')));
  const issuer = new URL(people.name, stack.issuer).href;
  let databaseUrl: string;
  let deployment: Deployment;
  let browser: Browser | undefined;
  let erin: Visitor;
  let frank: Visitor;

  beforeAll(async () => {
    await emptyRules(kubectlOf(stack));
    const { port, environment } = await forPeople(stack);
    const grantline = await startGrantline(processes, stack, {
      ...{ name: 'console', mode: 'insecure', family: 'X-Trino', port },
      environment: (given, database) => {
        databaseUrl = database.url;
        return environment(given, database);
      },
    });
    deployment = new Deployment(stack, grantline, 'insecure', 'X-Trino');
    await deployment.makeAdministrator();
    browser = await chromium.launch(await installBrowser(process.env));
    [erin, frank] = [await visitor(browser), await visitor(browser)];
  });
  afterAll(async () => {
    await browser?.close();
    await processes.stopAll();
  });

  async function visitor(of: Browser): Promise<Visitor> {
    const context = await of.newContext({
      baseURL: deployment.grantline.url,
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
    });
    const watch = new PageWatch(context, deployment.grantline.url);
    watch.knows(new URL(issuer).origin);
    return { page: await context.newPage(), watch };
  }
  const atProvider = async (page: Page): Promise<void> => {
    await page.getByRole('textbox', { name: 'Password' }).fill(people.password);
    await page.getByRole('button', { name: 'Sign In' }).click();
  };
  const signIn = async ({ page }: Visitor, username: string): Promise<void> => {
    await page.goto('/sql');
    await page.getByRole('link', { name: `Sign in with ${new URL(issuer).host}` }).click();
    await page.getByRole('textbox', { name: 'Username or email' }).fill(username);
    await atProvider(page);
    await on(page.getByRole('heading', { level: 1, name: 'SQL' })).toBeVisible();
  };
  const idOf = async (username: string): Promise<number> => {
    const { body } = await deployment.administrator.get(`/api/admin/users?q=${username}`);
    return (body?.['items'] as { id: number }[])[0]?.id ?? 0;
  };
  /** In a fresh editor. */
  const run = async ({ page }: Visitor, sql: string): Promise<void> => {
    await page.goto('/sql');
    await page.getByRole('textbox', { name: 'SQL statement' }).fill(sql);
    await page.getByRole('button', { name: 'Run' }).click();
  };
  const publish = async ({ page }: Visitor, version: number): Promise<void> => {
    await page.getByRole('link', { name: 'Publications' }).click();
    await page.getByRole('button', { name: 'Publish now' }).click();
    await on(page.getByText(`Version ${version} was published.`)).toBeVisible();
    await deployment.untilLive();
  };

  it('two people sign in at the provider; one becomes an administrator', async () => {
    await signIn(erin, 'erin');
    await signIn(frank, 'frank');
    const promotion = await deployment.administrator.patch(`/api/admin/users/${await idOf('erin')}`, { role: 'admin' });
    expect(promotion.status).toBe(200);
    await erin.page.reload();
    await on(erin.page.getByRole('link', { name: 'Publications' })).toBeVisible();
    await on(frank.page.getByRole('link', { name: 'Publications' })).toBeHidden();
  });

  it('the engine refuses the other one, who has nothing yet', async () => {
    await publish(erin, 1);
    await run(frank, count('tiny'));
    await on(frank.page.getByRole('alert')).toContainText(REFUSED);
  });

  it('a grant made in the browser is published, seen by the engine, and used in the browser', async () => {
    const { page } = erin;
    await page.goto('/grants/new');
    await page.getByRole('combobox', { name: 'Person or group' }).fill('frank');
    await page.getByRole('option', { name: 'frank' }).first().click();
    await page.getByRole('combobox', { name: 'Catalog' }).fill(READABLE_CATALOG);
    await page.getByRole('combobox', { name: 'Schema' }).fill('tiny');
    await page
      .getByRole('group', { name: 'Privileges' })
      .getByRole('checkbox', { name: 'SELECT', exact: true })
      .check();
    await on(page.getByRole('region', { name: 'Who gains' })).toContainText('frank');
    await page.getByRole('button', { name: 'Grant to 1 person' }).click();
    await on(page).toHaveURL(/\/grants$/);
    await publish(erin, 2);

    await run(frank, count('tiny'));
    await on(frank.page.getByRole('table', { name: 'Results' }).getByRole('row')).toHaveText([/_col0/, '25']);
    await run(frank, count('sf1'));
    await on(frank.page.getByRole('alert')).toContainText(REFUSED);
    await frank.page.getByRole('link', { name: 'Why?' }).click();
    await on(frank.page.getByRole('heading', { level: 1 })).toContainText(`${READABLE_CATALOG}.sf1.nation`);
  });

  it("a mask shows in the rows after it, and in that person's SQL", async () => {
    const { page } = erin;
    const { body } = await deployment.administrator.post('/api/admin/grants', {
      principal: { type: 'user', id: await idOf('erin') },
      resource: { catalog: READABLE_CATALOG, schema: 'tiny' },
      privileges: ['SELECT'],
    });
    await publish(erin, 3);
    await page.goto('/policies/new');
    await page.getByRole('radio', { name: 'Column mask' }).check({ force: true });
    await page.getByRole('combobox', { name: 'Person or group' }).fill('frank');
    await page.getByRole('option', { name: 'frank' }).first().click();
    for (const [level, name] of [
      ['Catalog', READABLE_CATALOG],
      ['Schema', 'tiny'],
      ['Table', 'nation'],
    ] as const)
      await page.getByRole('combobox', { name: level }).fill(name);
    await page.getByRole('combobox', { name: 'Column' }).fill('name');
    await page.getByRole('textbox', { name: 'Expression' }).fill("'***'");
    await on(page.getByRole('region', { name: 'Rows before' })).toContainText('ALGERIA');
    await on(page.getByRole('region', { name: 'Rows after' }).getByRole('row').nth(1)).toContainText('***');
    await page.getByRole('button', { name: 'Save' }).click();
    await on(page).toHaveURL(/\/policies\/\d+$/);
    await deployment.administrator.send('DELETE', `/api/admin/grants/${Number(body?.['id'])}`);
    await publish(erin, 4);

    await run(frank, `SELECT name FROM ${READABLE_CATALOG}.tiny.nation WHERE nationkey = 0`);
    await on(frank.page.getByRole('table', { name: 'Results' }).getByRole('row')).toHaveText([/^name/, '***']);
  });

  it('a revoke is published, and the engine refuses again', async () => {
    const { page } = erin;
    await page.getByRole('link', { name: 'Grants' }).click();
    await page.getByRole('table', { name: 'Grants' }).getByRole('button', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog', { name: /^Revoke grant \d+\?$/ });
    await on(dialog.getByRole('region', { name: 'Who loses' })).toContainText('frank');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await on(dialog).toBeHidden();
    await publish(erin, 5);

    await run(frank, count('tiny'));
    await on(frank.page.getByRole('alert')).toContainText(REFUSED);
  });

  it('an administrator without a password confirms a promotion at the provider', async () => {
    const { page } = erin;
    const database = new Client({ connectionString: databaseUrl });
    await database.connect();
    await database.query(`UPDATE sessions SET proved_at = now() - interval '1 hour' WHERE cookie_digest IS NOT NULL`);
    await database.end();

    await page.goto(`/people/${await idOf('frank')}`);
    await page.getByRole('button', { name: 'Make administrator…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Make frank administrator?' });
    await dialog.getByRole('button', { name: 'Confirm at the provider' }).click();
    await atProvider(page);
    await on(dialog.getByRole('status')).toHaveText('You confirmed at the provider.');
    await dialog.getByRole('button', { name: 'Make administrator' }).click();
    await on(page.getByRole('button', { name: 'Make user…' })).toBeVisible();
  });

  it('signing out ends at the provider, which asks for the password next time', async () => {
    const { page } = frank;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await on(page.getByRole('heading', { level: 1, name: 'Sign in' })).toBeVisible();
    await signIn(frank, 'frank');
  });

  it('no page has printed anything, broken its policy, or asked another site', () => {
    expect([...erin.watch.findings(), ...frank.watch.findings()]).toEqual([]);
  });
});
