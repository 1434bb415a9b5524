import { isAccessChange, detailsText, type AuditEvent, eventSentence, subjectAddress } from './audit-text.js';

const subject = (type: 'user' | 'grant' | 'policy' | 'session') => ({ type, id: '7', name: null });

const eventOf = (part: Partial<AuditEvent>): AuditEvent => ({
  ...{ id: 1, at: '2026-11-24T09:00:12Z', event: 'grant_created', actor: null, subject: null },
  ...{ address: null, request_id: null, details: {} },
  ...part,
});

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

  const group = { type: 'group', id: '3', name: 'eu-analysts' } as const;
  const ruth = { id: 7, name: 'ruth', token: null };
  it.each<[Partial<AuditEvent>, ReturnType<typeof eventSentence>]>([
    [
      {
        subject: subject('grant'),
        ...{ actor: { ...ruth, token: { id: 't', name: 'ci' } }, address: '10.4.20.15' },
        details: {
          ...{ principal: 'user:12', resource: { catalog: 'sales' }, privileges: ['SELECT'] },
          expires_at: '2026-11-30T00:00:00Z',
        },
      },
      [
        ...[{ text: 'grant 7', href: '/grants?state=all&grant=7' }, ': SELECT on ', { node: { catalog: 'sales' } }],
        ...[' to ', { principal: { type: 'user', id: 12 } }, ', until ', { time: '2026-11-30T00:00:00Z' }],
        ', by token ci, from 10.4.20.15',
      ],
    ],
    [
      { event: 'member_removed', subject: group, details: { user_id: 4 } },
      [{ principal: { type: 'user', id: 4 } }, ' from ', { text: 'eu-analysts', href: '/groups/3' }, ''],
    ],
    [
      { event: 'login_succeeded', actor: ruth, subject: { ...subject('user'), name: 'ruth' }, address: '10.4.20.15' },
      ['from 10.4.20.15'],
    ],
    [
      {
        ...{ event: 'login_failed', subject: { ...subject('user'), name: 'ruth' }, address: '10.4.20.15' },
        details: { by: 'confirm', reason: 'invalid_credentials' },
      },
      [{ text: 'ruth', href: '/people/7' }, ': wrong password in a signed-in session', ', from 10.4.20.15'],
    ],
    [
      {
        event: 'publication_applied',
        subject: { type: 'publication', id: '9', name: null },
        details: { access: { people_gaining: 40, people_losing: 1 } },
      },
      [{ text: 'version 9', href: '/publications/9' }, ', 40 people gain, 1 person loses', ''],
    ],
    [
      {
        event: 'grant_revoked',
        subject: subject('grant'),
        details: { principal: 'everyone', resource: { queries: 'group:3' }, privileges: ['VIEW_QUERIES'] },
      },
      [
        ...[{ text: 'grant 7', href: '/grants?state=all&grant=7' }, ': VIEW_QUERIES on '],
        ...[{ node: { queries: { type: 'group', id: 3 } } }, ' from ', { principal: { type: 'everyone' } }, ''],
      ],
    ],
    [
      {
        event: 'guarantee_changed',
        subject: { type: 'guarantee', id: '2', name: 'no ledger' },
        details: {
          before: { kind: 'only' },
          after: {
            ...{ kind: 'never', mode: 'enforced', name: 'no ledger', principal: { type: 'group', id: 3 } },
            ...{ resource: { catalog: 'finance' }, privileges: ['INSERT'], description: null },
          },
        },
      },
      [
        ...[{ text: 'guarantee no ledger', href: '/guarantees/2' }, ': ', 'Nobody', ' of '],
        ...[{ principal: { type: 'group', id: 3 } }, ' may ', '', 'INSERT', ' into '],
        ...[{ node: { catalog: 'finance' } }, ''],
      ],
    ],
    [
      {
        event: 'guarantee_broken',
        subject: { type: 'guarantee', id: '2', name: 'no ledger' },
        details: { message: 'the guarantee "no ledger" is broken: …', broken_by: 1 },
      },
      [{ text: 'guarantee no ledger', href: '/guarantees/2' }, ': 1 breach', ''],
    ],
  ])('is a sentence: %j', (part, sentence) => expect(eventSentence(eventOf(part))).toEqual(sentence));

  it('changes access or not', () => {
    const names = ['grant_created', 'login_succeeded', 'member_added', 'publication_applied'] as const;
    expect(names.filter((event) => isAccessChange(eventOf({ event })))).toEqual(['grant_created', 'member_added']);
  });
});
