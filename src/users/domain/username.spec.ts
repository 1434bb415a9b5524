import { usernameProblem } from './username.js';

describe('a username', () => {
  it.each(['abc', 'A_1', '___', '123', 'a'.repeat(64)])('may be %s', (name) =>
    expect(usernameProblem(name)).toBeNull(),
  );

  it.each(['', 'ab', 'a'.repeat(65), 'a b', 'abc\n', 'a-b', 'añb', 'ａbc', 'a\u200bbc', '١٢٣', 'abc\0'])(
    'may not be %j',
    (name) => expect(usernameProblem(name)).not.toBeNull(),
  );
});
