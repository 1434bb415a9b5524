import { takesLastAdministrator } from './account.js';

describe('the last administrator', () => {
  it.each<[string, number[], boolean, 'admin' | 'user', boolean]>([
    ['is taken by a demotion', [1], true, 'user', true],
    ['is taken by a deactivation', [1], false, 'admin', true],
    ['is not taken by a change that leaves them one', [1], true, 'admin', false],
    ['is not the one of two', [1, 2], false, 'user', false],
    ['is another account', [2], false, 'user', false],
    ['was gone before', [], false, 'user', false],
  ])('%s', (_, administrators, isActive, role, taken) => {
    expect(takesLastAdministrator(administrators, { id: 1, role, isActive })).toBe(taken);
  });
});
