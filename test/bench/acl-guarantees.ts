import { compile } from '../../src/trino-rules/compile/compile.js';
import { type Guarantee, GUARANTEE_KINDS, type GuaranteeScope } from '../../src/trino-rules/model/guarantee.js';
import { type Node, pathTo } from '../../src/trino-rules/model/node.js';
import { PRIVILEGE_TERMS, privilegesOn } from '../../src/trino-rules/model/privilege.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { judgeRules } from '../../src/trino-rules/verify/check.js';
import { Chance } from '../support/snapshots/chance.js';
import { cpuMs } from './judging.js';
import { median, medianRatio, ratioTable } from './ratio.js';
import { snapshotOf, type Workload } from './workload.js';

const TURNS = 5;
const CASES = [
  { what: '50 guarantees', count: 50, broken: 0, target: { atMost: 1.05 } },
  { what: '500 guarantees', count: 500, broken: 0, target: { atMost: 1.3 } },
  { what: '500 guarantees, 50 of them broken', count: 500, broken: 50, target: null },
] as const;

/** What guarantees add to compiling and proving: in turns with the same snapshot without them. */
export function guaranteeRatios(workload: Workload): string {
  const snapshot = snapshotOf(workload);
  const { text } = compile(snapshot);
  const { holding, broken } = guaranteesOf(snapshot, text);
  const snapshots = CASES.map((each) => ({
    ...snapshot,
    guarantees: [...broken.slice(0, each.broken), ...holding.slice(0, each.count - each.broken)],
  }));
  const [, ...turns] = Array.from({ length: TURNS + 1 }, () =>
    [snapshot, ...snapshots].map((each) => cost(each, text)),
  );
  const column = (at: number): number[] => turns.map((turn) => turn[at] ?? NaN);
  return ratioTable(
    CASES.map(({ what, target }, i) => ({
      what: `compile and proof with ${what}, against without`,
      ratio: medianRatio(column(i + 1), column(0)),
      target,
      figures: `${median(column(i + 1)).toFixed(0)}, ${median(column(0)).toFixed(0)} ms`,
    })),
  );
}

/** Milliseconds. @throws Error if guarantees change the rules */
function cost(snapshot: Snapshot, expected: string): number {
  const began = cpuMs();
  const { text } = compile(snapshot);
  judgeRules(text, snapshot);
  const ms = cpuMs() - began;
  if (text !== expected) throw new Error('guarantees have changed the rules');
  return ms;
}

/** Of all kinds, on nodes of grants and above. */
function guaranteesOf(snapshot: Snapshot, text: string): { holding: Guarantee[]; broken: Guarantee[] } {
  const chance = new Chance(1);
  const drawn = Array.from({ length: DRAWN }, (_, i) => aGuarantee(snapshot, chance, i + 1));
  const { verdicts } = judgeRules(text, { ...snapshot, guarantees: drawn }, 1);
  const ids = new Set(verdicts.flatMap(({ id, isBroken }) => (isBroken ? id : [])));
  return { holding: drawn.filter(({ id }) => !ids.has(id)), broken: drawn.filter(({ id }) => ids.has(id)) };
}

const DRAWN = 2_000;

function aGuarantee({ grants, groups }: Snapshot, chance: Chance, id: number): Guarantee {
  const grant = () => grants[chance.below(grants.length)] ?? { resource: {}, principal: { type: 'everyone' as const } };
  const group = () => ({ type: 'group' as const, id: chance.below(groups.length) + 1 });
  const kind = GUARANTEE_KINDS[id % GUARANTEE_KINDS.length] ?? 'never';
  const given = grant();
  const node = (resource: Node): Node => {
    const path = pathTo(resource);
    return (
      path[
        chance.weighted([
          [path.length - 1, 6],
          [path.length - 2, 3],
          [0, 1],
        ] as const)
      ] ?? resource
    );
  };
  const scope = (resource: Node): GuaranteeScope => {
    const all = privilegesOn(resource).flatMap((each) => {
      const { components } = PRIVILEGE_TERMS[each];
      return components.length > 0 ? components : [each];
    });
    const privileges = chance.next() < 0.3 ? [...new Set(all)] : chance.next() < 0.5 ? (['SELECT'] as const) : WRITING;
    return { resource, privileges, isUnfiltered: false };
  };
  const reading = { resource: given.resource, privileges: ['SELECT'] as const, isUnfiltered: false };
  const refined = chance.next() < 0.2 ? { ...reading, isUnfiltered: true } : scope(node(given.resource));
  return {
    ...{ id, name: `sentence ${id}`, mode: 'enforced', kind },
    principal: kind === 'never' ? group() : kind === 'always' ? given.principal : { type: 'everyone' },
    except: kind === 'always' ? [] : [group(), group()],
    scopes:
      kind === 'always' ? [reading] : kind === 'apart' ? [scope(given.resource), scope(grant().resource)] : [refined],
    count: kind === 'at_most' ? 500 : 0,
  };
}

const WRITING = ['INSERT', 'UPDATE', 'DELETE'] as const;
