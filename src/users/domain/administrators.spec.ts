import { type RoleMismatch, planRoles } from './administrators.js';

const account = (id: number, isMember: boolean): RoleMismatch => ({
  ...{ id, username: `user${id}`, isActive: true, isMember },
});
const idsOf = (accounts: readonly RoleMismatch[]) => accounts.map(({ id }) => id);
const plan = (outdated: readonly RoleMismatch[], administrators: readonly number[]) => {
  const { promotions: promoted, demotions: demoted } = planRoles(outdated, administrators);
  return { promoted: idsOf(promoted), demoted: idsOf(demoted) };
};

describe('administrators by a group', () => {
  it('are its members, and nobody who has left it', () => {
    expect(plan([account(1, true), account(2, false)], [9])).toEqual({ promoted: [1], demoted: [2] });
  });

  it('keep the last one with a password, of several who leave at once', () => {
    expect(plan([account(1, false), account(2, false), account(3, false)], [1, 3])).toEqual({
      promoted: [],
      demoted: [1, 2],
    });
  });

  it('do not keep one without a password', () => {
    expect(plan([account(1, false)], [])).toEqual({ promoted: [], demoted: [1] });
  });
});
