import { byEvaluator } from '../../../test/support/rules/by-evaluator.js';
import { byIntent } from '../../../test/support/rules/by-intent.js';
import { proveRules } from '../../../test/support/rules/prove-rules.js';
import { wrongDocuments, wronged } from '../../../test/support/rules/wrong-documents.js';
import { Evaluator } from '../engine/evaluator.js';
import { MetadataVisibility } from '../../../test/support/rules/metadata-visibility.js';

describe('rules that look closed and are not', () => {
  it.each(Object.entries(wrongDocuments()))('are refused: %s', (_, { rules, shownBy }) => {
    const evaluator = new Evaluator(rules);
    expect(byIntent(wronged, shownBy)).toBe(false);
    expect(byEvaluator(evaluator, new MetadataVisibility(evaluator), shownBy)).toBe(true);

    const codes = proveRules(rules, wronged).map(({ code }) => code);

    expect(codes.length).toBeGreaterThan(0);
    expect(['proof-undecided', 'proof-difference']).toEqual(expect.arrayContaining([...new Set(codes)]));
  });
});
