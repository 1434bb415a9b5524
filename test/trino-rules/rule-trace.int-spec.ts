import fc from 'fast-check';
import { runs } from '../support/landing.js';
import { answer, asked, engines, questionOf, users } from '../support/rules/asked.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { AccessIndex } from '../../src/trino-rules/answers/access-index.js';
import { explain } from '../../src/trino-rules/answers/explanation.js';
import { holders } from '../../src/trino-rules/answers/holders.js';
import { traceRules } from '../../src/trino-rules/answers/rule-trace.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { QUERY_RIGHTS, SYSTEM_INFORMATION_RIGHTS } from '../../src/trino-rules/document/rules-document.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { decide } from '../../src/trino-rules/model/decision.js';
import { type Principal, principalText } from '../../src/trino-rules/model/principal.js';
import type { Question } from '../../src/trino-rules/model/question.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';

/** What is no data: one of each kind, and every user to become. */
const rights = ({ users, settings }: Snapshot): Question[] => [
  ...QUERY_RIGHTS.map((right) => ({ about: 'queries', right }) as const),
  ...SYSTEM_INFORMATION_RIGHTS.map((right) => ({ about: 'system-information', right }) as const),
  ...users.map(({ name }) => ({ about: 'impersonation', newUser: name }) as const),
  ...['sales', 'system', ...settings.writableCatalogs, ...settings.readableCatalogs].flatMap((catalog) => [
    { about: 'session-property', property: 'p', catalog } as const,
    { about: 'catalog-mode', resource: { catalog }, mode: 'all' } as const,
    { about: 'catalog-mode', resource: { catalog }, mode: 'read-only' } as const,
  ]),
  ...['p', ...settings.sessionProperties].map(
    (property) => ({ about: 'session-property', property, catalog: null }) as const,
  ),
  ...(['function', 'procedure'] as const).map(
    (kind) =>
      ({
        about: 'routine',
        kind,
        resource: { catalog: 'sales', schema: 'system', routine: 'query' },
        privilege: 'EXECUTE',
      }) as const,
  ),
  {
    about: 'routine',
    kind: 'procedure',
    resource: { catalog: 'system', schema: 'runtime', routine: 'kill_query' },
    privilege: 'EXECUTE',
  },
];

const nameOf = ({ users }: Snapshot, principal: Exclude<Principal, { type: 'group' }>): string =>
  principal.type === 'engine' ? principal.name : (users.find(({ id }) => id === principal.id)?.name ?? '');

describe('rights besides data', () => {
  it('are explained, traced and held as the specification says', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        const { document, findings } = compile(snapshot);
        if (findings.some(({ severity }) => severity === 'error')) return;
        const evaluator = new Evaluator(document);
        const index = new AccessIndex(snapshot);
        for (const right of rights(snapshot)) {
          const allowed = [...users(snapshot), ...engines(snapshot)].filter((principal) => {
            const decided = decide(snapshot, principal, right).allowed;
            expect(explain(index, principal, right).allowed).toBe(decided);
            return decided;
          });
          const traced = [...users(snapshot), ...engines(snapshot)].filter((principal) => {
            const name = principal.type === 'group' ? '' : nameOf(snapshot, principal);
            return traceRules(evaluator, name, right).allowed;
          });
          expect(traced.map(principalText)).toEqual(allowed.map(principalText));
          const found = holders(index, right).map(({ principal }) => principalText(principal));
          expect(found.sort()).toEqual(allowed.map(principalText).sort());
        }
      }),
      { numRuns: runs(40) },
    );
  });
});

describe('the trace of a question through the rules', () => {
  it('ends in the answer that the grants mean', () => {
    fc.assert(
      fc.property(asked, ({ snapshot, principal, at }) => {
        if (principal.type === 'group' || at.resource.schema === 'information_schema') return;
        const name = nameOf(snapshot, principal);
        const { document, findings } = compile(snapshot);
        if (findings.some(({ severity }) => severity === 'error')) return;
        const { allowed, rule, considered } = traceRules(new Evaluator(document), name, questionOf(snapshot, at));
        expect(allowed).toBe(answer(snapshot, principal, at));
        if (rule !== null) {
          const later = considered.filter(({ section, index }) => section === rule.section && index >= rule.index);
          expect(later).toEqual([]);
        }
      }),
      { numRuns: runs(100) },
    );
  });
});
