// Pictures of pages of the sample company: npm run console:pictures -- [--as USER] [--folder FOLDER] [--crop 1080x560] PATH…
// Cropped ones, such as those of the documents, are wide and light alone.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type BrowserContext, chromium } from '@playwright/test';
import { installBrowser } from './running/browser.js';
import { openSession } from './running/console-test.js';
import { Grantline } from './running/grantline.js';
import { fillSampleCompany } from './running/sample-company.js';

const SIZES = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;
/** Of cropped pictures, in percent: sharp enough for text, and small. */
const QUALITY = 75;
const SCHEMES = ['light', 'dark'] as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    as: { type: 'string', default: 'admin' },
    folder: { type: 'string', default: '.data/pictures' },
    crop: { type: 'string' },
  },
});

const cropped = croppedOf(values.crop);

mkdirSync(values.folder, { recursive: true });
const grantline = await Grantline.start();
const browser = await chromium.launch(await installBrowser(process.env));
try {
  await fillSampleCompany(await grantline.createAdministrator());
  for (const [size, viewport] of Object.entries(cropped === null ? SIZES : { cropped })) {
    const context = await browser.newContext({ baseURL: grantline.url, viewport, reducedMotion: 'reduce' });
    await openSession(context, grantline.url, values.as);
    for (const path of positionals) await takePictures(context, path, size);
    await context.close();
  }
} finally {
  await browser.close();
  await grantline.stop();
}

async function takePictures(context: BrowserContext, path: string, size: string): Promise<void> {
  const page = await context.newPage();
  page.on('console', (message) => console.log(`${path}: ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => console.log(`${path}: ${error.message}`));
  await page.goto(path, { waitUntil: 'networkidle' });
  const shown = cropped === null ? path : (path.split('?')[0] ?? path);
  const name = shown.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'root';
  for (const colorScheme of cropped === null ? SCHEMES : ['light' as const]) {
    await page.emulateMedia({ colorScheme });
    const file = join(values.folder, cropped === null ? `${name}-${size}-${colorScheme}.png` : `${name}.jpg`);
    await page.screenshot({ path: file, ...(cropped !== null && { type: 'jpeg', quality: QUALITY }) });
    console.log(file);
  }
  await page.close();
}

function croppedOf(text: string | undefined): { width: number; height: number } | null {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text ?? '') ?? [];
  return width === undefined ? null : { width: Number(width), height: Number(height) };
}
