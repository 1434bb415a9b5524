import { defineConfig } from '@playwright/test';
import { installBrowser, OTHER_NAME } from './running/browser.js';

const browser = await installBrowser(process.env);

export default defineConfig({
  testDir: '.',
  testMatch: '**/*.page-spec.ts',
  outputDir: '../../.data/console-tests',
  // A service for each worker; each file runs in one of them.
  workers: 2,
  // Many times what a test takes where two cores serve both workers, and nothing where it passes.
  timeout: 240_000,
  expect: { timeout: 60_000 },
  forbidOnly: true,
  reporter: [['list'], ['json', { outputFile: process.env['GRANTLINE_TEST_REPORT'] ?? '../../.data/console.json' }]],
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 800 },
    launchOptions: { ...browser, args: [`--host-resolver-rules=MAP ${OTHER_NAME} 127.0.0.1`] },
    trace: 'off',
  },
});
