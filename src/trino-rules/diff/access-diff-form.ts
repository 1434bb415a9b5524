import {
  describePermission,
  describeRestriction,
  displayName,
  isRestriction,
  pathOf,
  type AccessFact,
} from '../engine/access-fact.js';
import { groupBy } from '../../kernel/collections.js';
import { FRESH_PREFIX } from '../document/open-names.js';
import { LEVELS, type Node } from '../model/node.js';
import type { AccessDiff, AccessDifference } from './access-diff.js';

/** Rights that Grantline's own rules never give. A fresh `name` represents all names that no file spells out. */
export type OtherRight =
  | { about: 'authorization'; to: 'user' | 'role'; name: string }
  | { about: 'catalog-ownership'; resource: Node };

type Direction = 'gained' | 'lost';
type Fact = AccessFact | OtherRight;
type NodeForm = Partial<Record<'catalog' | 'schema' | 'table' | 'column', string | null>>;

/** One entry for `--json`. */
export interface AccessDifferenceForm {
  kind: string;
  /** Node down to the last level that a file names; null at a level: any other name. */
  resource?: NodeForm;
  /** `SELECT from sales.eu.orders`; for a restriction with `now` or `no longer`. */
  what: string;
  people: string[];
  /** Users that neither file names: `any other user`, or `ana_…` for an open pattern. */
  strangers: string[];
  [detail: string]: unknown;
}

export function accessDiffForm({ gained, lost }: AccessDiff<Fact>): Record<Direction, AccessDifferenceForm[]> {
  return { gained: gained.map(differenceForm('gained')), lost: lost.map(differenceForm('lost')) };
}

/** Lines for a terminal, grouped by users. Facts that differ only in the last name share a line. */
export function accessDiffLines({ gained, lost }: AccessDiff<Fact>): string[] {
  return [...linesOf('gained', gained), ...linesOf('lost', lost)];
}

function differenceForm(direction: Direction): (difference: AccessDifference<Fact>) => AccessDifferenceForm {
  return ({ fact, people, strangers }) => {
    const what = describeChange(fact, direction);
    return { ...factForm(fact), what, people, strangers: strangers.map(userName) };
  };
}

function factForm(fact: Fact): Pick<AccessDifferenceForm, 'kind' | 'resource'> & Record<string, unknown> {
  const kind = fact.about.replaceAll('-', '_');
  switch (fact.about) {
    case 'privilege':
    case 'catalog-mode':
    case 'table-procedures':
    case 'schema-ownership':
    case 'row-filter':
    case 'catalog-ownership': {
      const { about: _, resource, ...details } = fact;
      return { kind, resource: cutOff(resource), ...details };
    }
    case 'column-mask':
    case 'hidden-column': {
      const { about: _, resource, column, ...details } = fact;
      return { kind, resource: { ...cutOff(resource), column }, ...details };
    }
    case 'queries':
      return fact.owner === undefined
        ? { kind, right: fact.right }
        : { kind: 'queries_of_owner', right: fact.right, owner: userName(fact.owner) };
    case 'impersonation':
      return { kind, new_user: userName(fact.newUser) };
    case 'routine':
      return {
        kind: fact.kind,
        resource: cutOff(fact.resource),
        name: named(fact.resource.routine ?? FRESH_PREFIX),
        privilege: fact.privilege,
      };
    case 'session-property':
      return {
        kind,
        property: named(fact.property),
        ...(fact.catalog !== null && { resource: { catalog: named(fact.catalog) } }),
      };
    case 'system-information':
      return { kind, right: fact.right };
    case 'authorization':
      return { kind, [`new_${fact.to}`]: named(fact.name) };
  }
}

function cutOff(resource: Node): NodeForm {
  const levels = LEVELS.flatMap((level) => {
    const name = resource[level];
    return name === undefined ? [] : [[level, named(name)] as const];
  });
  return Object.fromEntries(levels.slice(0, levels.findLastIndex(([, name]) => name !== null) + 1));
}

/** Null: any name that neither file spells out. */
function named(name: string): string | null {
  const shown = displayName(name, '');
  return shown === '' ? null : shown;
}

function userName(name: string): string {
  return displayName(name, 'any other user');
}

function describeChange(fact: Fact, direction: Direction): string {
  if (fact.about === 'authorization')
    return `SET AUTHORIZATION to the ${fact.to} ${displayName(fact.name, `(any other ${fact.to})`)}`;
  if (fact.about === 'catalog-ownership') return `create and drop the catalog ${pathOf(fact.resource)}`;
  if (!isRestriction(fact)) return describePermission(fact);
  return `${direction === 'gained' ? 'no longer' : 'now'}: ${describeRestriction(fact)}`;
}

function linesOf(direction: Direction, differences: readonly AccessDifference<Fact>[]): string[] {
  const byUsers = groupBy(differences, ({ people, strangers }) => JSON.stringify([people, strangers]));
  return [...byUsers.values()].flatMap((alike) => {
    const [{ people, strangers }] = alike;
    const users = [...new Set([...people, ...strangers.map(userName)])];
    const count = users.length > 1 ? ` (${users.length})` : '';
    return [
      `${direction} by ${users.join(', ')}${count}:`,
      ...merged(
        alike.map(({ fact }) => fact),
        direction,
      ),
    ];
  });
}

/** `SELECT from sales.eu.orders` and `SELECT from sales.eu.visits` as `SELECT from sales.eu.{orders, visits}`. */
function merged(facts: readonly Fact[], direction: Direction): string[] {
  const parts = facts.map((fact) => {
    const whole = describeChange(fact, direction);
    const last = lastName(fact);
    return last !== null && whole.endsWith(last)
      ? { head: whole.slice(0, -last.length), last }
      : { head: whole, last: '' };
  });
  return [...groupBy(parts, ({ head }) => head)].map(([head, alike]) => {
    const names = [...new Set(alike.map(({ last }) => last))];
    return `  ${head}${names.length > 1 ? `{${names.join(', ')}}` : (names[0] ?? '')}`;
  });
}

/** The name at the end of a permission's text. */
function lastName(fact: Fact): string | null {
  if (fact.about === 'impersonation') return displayName(fact.newUser, 'a stranger');
  if (fact.about === 'queries' && fact.owner !== undefined) return displayName(fact.owner, 'any other user');
  if (fact.about !== 'privilege' || fact.resource.table === undefined) return null;
  return displayName(fact.resource.table, '(any other table)');
}
