import { aSnapshot } from '../../../test/support/snapshot-builder.js';
import { compile } from '../compile/compile.js';
import { checkRules } from './check.js';

describe('the check of a text', () => {
  it('has enough steps for what few people have on many schemas, with many restrictions each', () => {
    const builder = aSnapshot();
    const people = builder.group('readers', ['ana', 'bo']);
    for (let i = 0; i < 600; i++) people.may('SELECT', `lake.schema_${i}`);
    const everyone = people.everyone();
    for (let i = 0; i < 1_000; i++) everyone.doesNotSee('lake', `column_${i}`);
    const snapshot = builder.snapshot();

    expect(checkRules(compile(snapshot).text, snapshot)).toEqual([]);
  });
});
