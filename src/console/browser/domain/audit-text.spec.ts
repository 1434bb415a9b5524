import { detailsText, subjectAddress } from './audit-text.js';

const subject = (type: 'user' | 'grant' | 'policy' | 'session') => ({ type, id: '7', name: null });

describe('an event of the audit trail', () => {
  it('has its details in one line', () => {
    const details = {
      privileges: ['SELECT', 'INSERT'],
      resource: { catalog: 'sales', schema: 'eu' },
      expires_at: null,
      hash: 'a'.repeat(64),
      problem: { message: 'too large', code: 'x' },
      count: 2,
    };
    expect(detailsText(details)).toBe(
      'privileges SELECT INSERT, resource sales.eu, hash aaaaaaaa, problem too large, count 2',
    );
  });

  it('cuts a long detail', () => {
    expect(detailsText({ text: 'x'.repeat(500) })).toHaveLength('text '.length + 120);
  });

  it('leads to what it is about', () => {
    const addresses = (['user', 'grant', 'policy', 'session'] as const).map((type) => subjectAddress(subject(type)));
    expect(addresses).toEqual(['/people/7', '/grants?state=all&grant=7', '/policies/7', null]);
    expect(subjectAddress(null)).toBeNull();
  });
});
