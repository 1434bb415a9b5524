import { parseArgs } from 'node:util';
import { type BrowserContext, chromium, type Page } from '@playwright/test';
import { installBrowser } from '../console/running/browser.js';
import { openSession } from '../console/running/console-test.js';
import { Grantline } from '../console/running/grantline.js';
import { insertManyRows } from '../console/running/many-rows.js';
import { fillSampleCompany } from '../console/running/sample-company.js';
import { median, quantile } from './ratio.js';
import { textTable } from './text-table.js';

/**
 * npm run bench:console [-- --turns 15]: milliseconds that people wait for pages over ten thousand of everything, beside what the
 * API takes for the same answer. Figures and what limits them: docs/benchmarks.md.
 */
const { values } = parseArgs({ options: { turns: { type: 'string', default: '15' } } });

/** A page that is opened, or a word that is typed, until the table shows the answer. */
interface Wait {
  what: string;
  /** Milliseconds. */
  atMost: number | null;
  path: string;
  /** Into which field a word is typed; none: the page is opened. */
  field?: { role: 'textbox' | 'combobox'; name: string };
  /** Holds once the answer is shown, as an expression in the page. @param turn each has a word of its own */
  shown: (turn: number) => string;
  word?: (turn: number) => string;
  /** The same of the API. */
  api: (turn: number) => string;
}

const word = (turn: number): string => `_0${100 + turn}`;
const rowsOf = (name: string, count: number): string =>
  `document.querySelector('table[aria-label="${name}"]')?.ariaRowCount === '${count + 1}'`;
const search = { role: 'textbox', name: 'Search' } as const;

const WAITS: readonly Wait[] = [
  {
    what: 'first paint of /people',
    atMost: 500,
    path: '/people',
    shown: () => `performance.getEntriesByName('first-contentful-paint').length > 0`,
    api: () => '/api/auth/console-session',
  },
  {
    what: 'filter of 10,000 people',
    atMost: 300,
    path: '/people',
    field: search,
    word,
    shown: () => rowsOf('People', 10),
    api: (turn) => `/api/admin/users?q=${word(turn)}&limit=200`,
  },
  {
    what: 'filter of 10,000 groups',
    atMost: 300,
    path: '/groups',
    field: search,
    word: (turn) => `-0${100 + turn}`,
    shown: () => rowsOf('Groups', 10),
    api: (turn) => `/api/admin/groups?q=-0${100 + turn}&limit=200`,
  },
  {
    what: 'filter of 10,000 grants',
    atMost: 300,
    path: '/grants',
    field: search,
    word,
    shown: () => rowsOf('Grants', 10),
    api: (turn) => `/api/admin/grants?q=${word(turn)}&limit=200`,
  },
  {
    what: 'filter of 10,000 policies',
    atMost: 300,
    path: '/policies',
    field: search,
    word,
    shown: () => rowsOf('Policies', 10),
    api: (turn) => `/api/admin/policies?q=${word(turn)}&limit=200`,
  },
  {
    what: 'a person among 10,000, to be chosen',
    atMost: 300,
    path: '/grants/new',
    field: { role: 'combobox', name: 'Person or group' },
    word: (turn) => `crowd${word(turn)}`,
    shown: (turn) =>
      `[...document.querySelectorAll('[role=option]')].some((o) => o.textContent.includes('crowd${word(turn)}'))`,
    api: (turn) => `/api/admin/users?q=crowd${word(turn)}&limit=20`,
  },
];

const browser = await chromium.launch(await installBrowser(process.env));
const grantline = await Grantline.start();
try {
  const admin = await grantline.createAdministrator();
  await fillSampleCompany(admin);
  const database = await grantline.database();
  await insertManyRows(database);
  await database.end();
  const context = await browser.newContext({ baseURL: grantline.url, viewport: { width: 1280, height: 800 } });
  await openSession(context, grantline.url, 'admin');
  const lines = [['what', 'target', '', 'median', 'p90', 'API alone']];
  for (const wait of WAITS) {
    const [page, api] = await measured(context, wait, async (path) => {
      const begin = performance.now();
      await admin.get(path);
      return performance.now() - begin;
    });
    const { what, atMost } = wait;
    const isMet = atMost === null ? '' : median(page) <= atMost ? 'met' : 'MISSED';
    const figures = [median(page), quantile(page, 0.9), median(api)].map((each) => `${Math.round(each)} ms`);
    lines.push([what, atMost === null ? '' : `at most ${atMost} ms`, isMet, ...figures]);
  }
  console.log(textTable(lines));
} finally {
  await browser.close();
  await grantline.stop();
}

/** Milliseconds of each turn: of the page, and of the API alone. */
async function measured(context: BrowserContext, wait: Wait, ask: (path: string) => Promise<number>) {
  const [pages, answers]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < Number(values.turns); turn += 1) {
    const page = await context.newPage();
    pages.push(await waited(page, wait, turn));
    answers.push(await ask(wait.api(turn)));
    await page.close();
  }
  return [pages, answers] as const;
}

/** By the page's own clock: from its opening, or from its last key, until a frame has the answer. */
async function waited(page: Page, { path, field, word: typed, shown }: Wait, turn: number): Promise<number> {
  await page.goto(path, { waitUntil: field === undefined ? 'commit' : 'networkidle' });
  if (field !== undefined && typed !== undefined) {
    await page.evaluate(`addEventListener('keydown', () => { window.begin = performance.now(); }, true)`);
    await page.getByRole(field.role, { name: field.name }).pressSequentially(typed(turn));
  }
  return page.evaluate<number>(`new Promise((done) => {
    const look = () => (${shown(turn)} ? done(performance.now() - (window.begin ?? 0)) : requestAnimationFrame(look));
    look();
  })`);
}
