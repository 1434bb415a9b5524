import type { Page } from '@playwright/test';
import { expect, test } from './running/console-test.js';
import type { PageWatch } from './running/page-watch.js';

/** Each list with all that it can be asked for at once. */
const ADDRESSES = [
  ['/people?q=filt&role=user&is_active=true&source=local', 'Remove State active'],
  ['/groups?q=filt', null],
  [
    '/grants?q=filt&state=all&principal=group:GROUP&covering=filt.a.b&expires_before=2099-01-01T00:00',
    'Remove State all',
  ],
  ['/grants?state=expired&catalog=filt&schema=a&table=b', 'Remove Table b'],
  ['/policies?q=filt&principal=everyone&covering=filt.a', 'Remove Covers filt.a'],
  ['/audit?q=filt&event=group_created&user=admin&subject=group:GROUP&from=2020-01-01T00:00', 'Remove Person admin'],
  ['/data/filt?q=a&tab=grants', null],
  ['/data/filt/a/b?way=directly', null],
  ['/people/PERSON?q=filt&may=SELECT', 'Remove May SELECT'],
  ['/grants/new?principal=user%3APERSON&catalog=filt&schema=a&expires=2099-03-31&privilege=SELECT', null],
  ['/why?principal=user:PERSON&privilege=SELECT&catalog=filt&schema=a&table=b', null],
] as const;

/** What a page says that it was asked, and what it shows for it. */
async function stateOf(page: Page): Promise<unknown> {
  const main = page.getByRole('main');
  return {
    heading: await main.getByRole('heading', { level: 1 }).allTextContents(),
    fields: await main.locator('input').evaluateAll((all) => all.map((each) => (each as { value?: string }).value)),
    tokens: await main.locator('.token').allTextContents(),
    pressed: await main.locator('[aria-pressed="true"], [aria-selected="true"]').allTextContents(),
    counts: await main.getByRole('status').allTextContents(),
    rows: await main.getByRole('row').count(),
  };
}

/** The same once nothing more arrives. */
async function settledState(page: Page, watch: PageWatch): Promise<unknown> {
  let before: unknown = null;
  await expect(async () => {
    await watch.settled();
    const now = await stateOf(page);
    const isSame = JSON.stringify(now) === JSON.stringify(before);
    before = now;
    expect(isSame && !/Reading|Computing|"heading":\[\]/.test(JSON.stringify(now))).toBe(true);
  }).toPass({ intervals: [250] });
  return before;
}

let person = 0;
let group = 0;
test.beforeAll(async ({ records }) => {
  person = await records.person('filtered');
  group = await records.group('filters', person);
  await records.grant({ type: 'group', id: group }, 'filt.a.b', ['SELECT'], '2098-01-01T00:00:00Z');
  await records.grant({ type: 'user', id: person }, 'filt.a');
});

for (const [pattern, token] of ADDRESSES) {
  test(`a copied address shows the same, as do reload and back: ${pattern}`, async ({ page, signIn, watch }) => {
    const address = pattern.replaceAll('GROUP', String(group)).replaceAll('PERSON', String(person));
    await signIn('admin');
    await page.goto(address);
    const shown = await settledState(page, watch);
    await page.reload();
    await expect.poll(() => stateOf(page)).toEqual(shown);

    if (token === null) await page.getByRole('link', { name: 'Engine', exact: true }).click();
    else await page.getByRole('button', { name: token }).click();
    await expect.poll(() => stateOf(page)).not.toEqual(shown);
    await page.goBack();
    await expect(page).toHaveURL(address);
    await expect.poll(() => stateOf(page)).toEqual(shown);
  });
}
