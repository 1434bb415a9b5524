import { realShapedReport } from '../../../test/opa/real-shaped-report.js';
import { readReport } from './instance-report.js';

const NOW = new Date('2026-11-25T12:00:00Z');
const report = (labels: unknown, bundle?: unknown): unknown => ({ labels, bundles: { grantline: bundle } });

describe('a report of OPA', () => {
  it('is read by labels and bundle alone', () => {
    const text = realShapedReport({ instance: 'trino-0', revision: 'v7-0123456789ab', at: NOW });
    expect(text.length).toBeGreaterThan(60_000);

    expect(readReport(JSON.parse(text), NOW)).toEqual({
      ...{ instance: 'trino-0', revision: 'v7-0123456789ab', errors: [], seenAt: NOW, requestedAt: NOW },
    });
  });

  it('names the instance by its label, or else by its id', () => {
    expect(readReport(report({ id: 'f3a', instance: 'trino-0' }), NOW)?.instance).toBe('trino-0');
    expect(readReport(report({ id: 'f3a' }), NOW)?.instance).toBe('f3a');
    expect(readReport(report({ id: 'é'.repeat(253) }), NOW)?.instance).toHaveLength(253);
  });

  it.each([
    ...[null, 7, 'text', [], {}, { labels: null }, { labels: [] }, { labels: 'id' }, report({})],
    report({ id: '' }),
    report({ id: 7 }),
    report({ id: 'x'.repeat(254) }),
    report({ id: 'f3a', instance: 'a\nb' }),
    report({ id: 'a\u0000b' }),
    report({ id: 'a\u202eb' }),
    report({ id: 'a\u2028b' }),
    report({ id: '\ud800' }),
  ])('%j names no instance', (body) => {
    expect(readReport(body, NOW)).toBeNull();
  });

  it.each([
    [undefined],
    [null],
    ['text'],
    [[]],
    [{ active_revision: 7, errors: 'x', message: {}, code: [], last_successful_request: 12 }],
    [{ active_revision: 'x'.repeat(65), last_successful_request: '0001-01-01T00:00:00Z' }],
    [{ active_revision: 'a\nb', errors: [7, null, {}, { message: '' }], last_successful_request: 'yesterday' }],
  ])('%j is no bundle', (bundle) => {
    expect(readReport(report({ id: 'f3a' }, bundle), NOW)).toEqual({
      ...{ instance: 'f3a', revision: null, errors: [], seenAt: NOW, requestedAt: null },
    });
  });

  it('keeps the first errors, shortened and on one line', () => {
    const message = 'bundle load failed';
    const errors = [
      'no object',
      { code: 'rego_parse_error', message: 'unexpected\n\u0000token' },
      { code: 'only code' },
    ];
    const bundle = { code: 'bundle_error', message, errors };
    expect(readReport(report({ id: 'f3a' }, bundle), NOW)?.errors).toEqual([
      ...[message, 'unexpected token', 'only code'],
    ]);

    const many = { message: '\u{1f600}'.repeat(400), errors: Array(50_000).fill({ message: 'x' }) };
    const kept = readReport(report({ id: 'f3a' }, many), NOW)?.errors ?? [];
    expect(kept).toHaveLength(10);
    expect(kept[0]).toBe('\u{1f600}'.repeat(250));
  });

  it('takes a moment of a clock that is ahead as now', () => {
    const ahead = { last_successful_request: '2999-01-01T00:00:00.123456789Z' };
    expect(readReport(report({ id: 'f3a' }, ahead), NOW)?.requestedAt).toEqual(NOW);
    const before = { last_successful_request: '2026-11-25T12:59:00.123456789+01:00' };
    expect(readReport(report({ id: 'f3a' }, before), NOW)?.requestedAt).toEqual(new Date('2026-11-25T11:59:00.123Z'));
  });
});
