import { type EngineErrorKind, judgeRulesProbe } from './engine-error.js';

describe('judgeRulesProbe', () => {
  it.each<[string, EngineErrorKind, string]>([
    ['INVALID_SESSION_PROPERTY', 'USER_ERROR', 'these'],
    ['PERMISSION_DENIED', 'USER_ERROR', 'others'],
    ['GENERIC_INTERNAL_ERROR', 'INTERNAL_ERROR', 'broken'],
    ['CONFIGURATION_INVALID', 'INTERNAL_ERROR', 'broken'],
    ['NOT_SUPPORTED', 'USER_ERROR', 'unclear'],
    ['CLUSTER_OUT_OF_MEMORY', 'INSUFFICIENT_RESOURCES', 'unclear'],
  ])('%s: %s', (name, kind, inForce) => {
    expect(judgeRulesProbe({ name, kind, message: '', line: null, column: null })).toBe(inForce);
  });

  it('learns nothing from an engine that accepts the property', () => {
    expect(judgeRulesProbe(null)).toBe('unclear');
  });
});
