import { memberDraft, memberRows, isSameMember } from './member-rows.js';

const at = '2026-01-01T00:00:00.000Z';
const members = [
  { type: 'user' as const, id: 1, name: 'ana', is_active: true, added_at: at },
  { type: 'engine' as const, name: 'airflow', added_at: at },
  { type: 'user' as const, id: 2, name: 'bo', is_active: true, added_at: at },
];
const cy = { type: 'user', id: 3, name: 'cy' };
const bo = { type: 'user', id: 2, name: 'bo' };
const airflow = { type: 'engine', name: 'airflow' };

describe('a draft of members', () => {
  it('stands before those who stay', () => {
    const rows = memberRows(members, [cy], [bo]);
    expect(rows.map(({ member, change, memberSince }) => [member.name, change, memberSince])).toEqual([
      ['cy', 'joins', null],
      ['bo', 'leaves', at],
      ['ana', null, at],
      ['airflow', null, at],
    ]);
  });

  it('names people by ids, and engine principals by names', () => {
    expect(memberDraft(9, [cy], [airflow]).members).toEqual({
      add: [{ group_id: 9, user_id: 3 }],
      remove: [{ group_id: 9, engine: 'airflow' }],
    });
  });

  it('does not take an engine principal for an account', () => {
    expect(isSameMember({ type: 'user', id: 1, name: 'x' })({ type: 'engine', name: '1' })).toBe(false);
    expect(isSameMember(bo)({ ...bo, name: 'renamed' })).toBe(true);
  });
});
