import { createRequire } from 'node:module';
import { expect, type Page } from '@playwright/test';

const { source } = createRequire(import.meta.url)('axe-core') as { source: string };

const RULES = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** Expects no violation of WCAG 2.2 AA and axe's best practices on the page as it is, in the light and in the dark. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const violations = await page.evaluate<Violation[]>(
      `axe.run(document, ${JSON.stringify(RULES)}).then(({ violations }) => violations)`,
    );
    const found = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} (${colorScheme}) at ${target.join(' ')}: ${failureSummary}`),
    );
    expect(found).toEqual([]);
  }
}
