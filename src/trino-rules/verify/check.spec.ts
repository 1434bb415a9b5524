import { aWorld } from '../../../test/support/a-world.js';
import { compile } from '../compile/compile.js';
import { checkRules } from './check.js';

describe('the check of a text', () => {
  it('has enough steps for what few people have on many schemas, with many restrictions each', () => {
    const world = aWorld();
    const people = world.group('readers', ['ana', 'bo']);
    for (let i = 0; i < 600; i++) people.may('SELECT', `lake.schema_${i}`);
    const everyone = people.everyone();
    for (let i = 0; i < 1_000; i++) everyone.doesNotSee('lake', `column_${i}`);
    const snapshot = world.snapshot();

    expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
  });
});
