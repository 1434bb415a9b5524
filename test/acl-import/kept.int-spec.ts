import { takenOver } from './kept-agreement.js';
import { keptCases } from './published-cases.js';

/** Only ever raised: as many are taken over whole. */
const WHOLE = 18;

describe('the import of rules files as people keep them', () => {
  it(`gives nobody more, and everybody the same with at least ${WHOLE} of them`, async () => {
    const results = [];
    for (const kept of keptCases()) results.push({ name: kept.name, ...(await takenOver(kept)) });
    const partly = results.filter(({ less }) => less.length > 0);
    const whole = results.length - partly.length;
    const left = partly.map(({ name, asked, less }) => `${name} ${((100 * less.length) / asked).toFixed(1)} %`);
    console.log(`${whole} of ${results.length} files taken over whole; less is given of ${left.join(', ')}`);
    expect(results.filter(({ more }) => more.length > 0)).toEqual([]);
    expect(whole).toBeGreaterThanOrEqual(WHOLE);
  });
});
