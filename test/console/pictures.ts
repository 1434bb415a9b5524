// Pictures of pages of the sample company, wide and narrow, light and dark:
//   npm run console:pictures -- [--as USER] [--folder FOLDER] [--crop 1080x560] [--rows 0,3,10000] [--whole] [PATH…]
// Without a path: of every page. With cropped ones, such as those of the documents, of the light one alone.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Browser, type BrowserContext, chromium } from '@playwright/test';
import { installBrowser } from './running/browser.js';
import { openSession } from './running/console-test.js';
import { Grantline } from './running/grantline.js';
import { insertManyRows } from './running/many-rows.js';
import { fillSampleCompany } from './running/sample-company.js';

const SIZES = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;
/** Of cropped pictures, in percent: sharp enough for text, and small. */
const QUALITY = 75;
const SCHEMES = ['light', 'dark'] as const;

const NODE = 'catalog=sales&schema=eu&table=orders';
/** Every page, by the ids of the sample company. */
const PAGES = [
  ...['/me', '/sql', '/data', '/data/sales/eu', '/data/sales/eu/orders', '/data/sales/eu/orders?tab=policies'],
  ...[
    '/people',
    '/people/2',
    '/groups',
    '/groups/1',
    '/engine',
    '/grants',
    '/policies',
    '/policies/1',
    '/policies/new',
  ],
  ...[`/grants/new?principal=group:1&privilege=SELECT&${NODE}`, '/publications', '/publications/1', '/audit', '/why'],
  ...['SELECT', 'DELETE'].map((privilege) => `/why?principal=user:2&privilege=${privilege}&${NODE}`),
  ...['/guarantees', '/guarantees/1', '/guarantees/2', '/guarantees/new'],
  '/sign-in', // the last: it ends the session
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    as: { type: 'string', default: 'admin' },
    folder: { type: 'string', default: '.data/pictures' },
    crop: { type: 'string' },
    rows: { type: 'string', default: '3' },
    whole: { type: 'boolean', default: false },
  },
});

const cropped = croppedOf(values.crop);
const paths = positionals.length > 0 ? positionals : PAGES;

mkdirSync(values.folder, { recursive: true });
const browser = await chromium.launch(await installBrowser(process.env));
try {
  for (const rows of values.rows.split(',')) await takeAllPictures(browser, rows);
} finally {
  await browser.close();
}

/** @param rows 0: nothing but the administrator; 3: the sample company; more: with ten thousand rows behind every list */
async function takeAllPictures(browser: Browser, rows: string): Promise<void> {
  const grantline = await Grantline.start();
  try {
    const admin = await grantline.createAdministrator();
    if (rows !== '0') await fillSampleCompany(admin);
    if (Number(rows) > 3) {
      const database = await grantline.database();
      await insertManyRows(database);
      await database.end();
    }
    for (const [size, viewport] of Object.entries(cropped === null ? SIZES : { cropped })) {
      const context = await browser.newContext({ baseURL: grantline.url, viewport, reducedMotion: 'reduce' });
      await openSession(context, grantline.url, values.as);
      for (const path of paths) {
        if (path === '/sign-in') await context.clearCookies();
        await takePictures(context, path, [...(values.rows.includes(',') ? [rows] : []), nameOf(path), size].join('-'));
      }
      await context.close();
    }
  } finally {
    await grantline.stop();
  }
}

async function takePictures(context: BrowserContext, path: string, name: string): Promise<void> {
  const page = await context.newPage();
  page.on('console', (message) => console.log(`${path}: ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => console.log(`${path}: ${error.message}`));
  await page.goto(path);
  // Of what takes longer there is a picture as well.
  await page.waitForLoadState('networkidle', { timeout: 15_000 }).catch(() => undefined);
  for (const colorScheme of cropped === null ? SCHEMES : ['light' as const]) {
    await page.emulateMedia({ colorScheme });
    const file = join(values.folder, cropped === null ? `${name}-${colorScheme}.png` : `${nameOf(path)}.jpg`);
    const type = cropped !== null && ({ type: 'jpeg', quality: QUALITY } as const);
    await page.screenshot({ path: file, fullPage: values.whole, ...type });
    console.log(file);
  }
  await page.close();
}

function nameOf(path: string): string {
  const shown = cropped === null ? path : (path.split('?')[0] ?? path);
  return shown.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'root';
}

function croppedOf(text: string | undefined): { width: number; height: number } | null {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text ?? '') ?? [];
  return width === undefined ? null : { width: Number(width), height: Number(height) };
}
