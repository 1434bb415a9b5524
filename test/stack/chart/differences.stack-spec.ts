import { isDeepStrictEqual } from 'node:util';

import fc from 'fast-check';

import { differences } from './differences.js';

const deployment = (env: object[], more: object = {}) => ({
  kind: 'Deployment',
  metadata: { name: 'a', namespace: 'portal', labels: { 'app.kubernetes.io/name': 'a' } },
  spec: { containers: [{ name: 'main', env, ...more }] },
});

describe('differences of rendered objects', () => {
  it('are told by path, the items of lists by their names', () => {
    const before = [deployment([{ name: 'A', value: '1' }], { args: ['serve'] })];
    const after = [
      deployment([
        { name: 'B', value: '2' },
        { name: 'A', value: '3' },
      ]),
      { kind: 'ConfigMap', metadata: { name: 'b' } },
    ];
    expect(differences(before, after).split('\n')).toEqual([
      '[Deployment a].spec.containers["main"].args: removed',
      '[Deployment a].spec.containers["main"].env["B"]: added first: { name: B, value: "2" }',
      '[Deployment a].spec.containers["main"].env["A"].value: "1" → "3"',
      '[ConfigMap b]: added after Deployment a: { kind: ConfigMap, metadata: { name: b } }',
    ]);
    const renamed = (objects: typeof after): object[] =>
      JSON.parse(JSON.stringify(objects).replaceAll('"name":"a"', '"name":"own"')) as object[];
    expect(differences(before, renamed(before), (name) => name.replace('own', 'a')).split('\n')).toEqual([
      '[Deployment a].metadata.name: "a" → "own"',
    ]);
  });

  it('are none between equal ones, and never the same for two that differ', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<unknown>(null, true, 1, '1', '', 'a', 'a → b', 'a\n- b'),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('name', 'key', 'a', 'b.c'), tie('any'), { maxKeys: 3, noNullPrototype: true }),
      ),
    })).any;
    const objects = fc.array(
      fc.record(
        { metadata: fc.record({ name: fc.constantFrom('a', 'b') }, { noNullPrototype: true }), spec: value },
        { noNullPrototype: true },
      ),
      {
        maxLength: 3,
      },
    );
    fc.assert(
      fc.property(objects, objects, objects, (base, one, other) => {
        expect(differences(base, base)).toBe('');
        const areSame = differences(base, one) === differences(base, other);
        expect(areSame).toBe(isDeepStrictEqual(one, other));
      }),
      { numRuns: 2000 },
    );
  });
});
