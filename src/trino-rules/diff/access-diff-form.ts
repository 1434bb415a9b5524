import {
  describePermission,
  describeRestriction,
  displayName,
  isRestriction,
  resourceText,
  type AccessFact,
} from '../engine/access-fact.js';
import { groupBy } from '../../kernel/collections.js';
import { FRESH_PREFIX } from '../document/open-names.js';
import { LEVELS, type Node } from '../model/node.js';
import type { AccessDiff, AccessDifference } from './access-diff.js';

/** Rights that Grantline's own rules never give, but rules files of other authors can give. */
export type OtherRight =
  | { about: 'authorization'; to: 'user' | 'role'; name: string }
  | { about: 'catalog-ownership'; resource: Node };

type Direction = 'gained' | 'lost';
type Fact = AccessFact | OtherRight;
type NodeForm = Partial<Record<'catalog' | 'schema' | 'table' | 'column', string | null>>;

export interface AccessDifferenceForm {
  kind: string;
  /** The node. Null in place of a name stands for all names that neither file contains. */
  resource?: NodeForm;
  /** The access in words, such as `SELECT from sales.eu.orders`. A restriction begins with `now: ` or `no longer: `. */
  what: string;
  people: string[];
  /** Users that neither file names. `ana_…`: users who match a pattern, such as `ana_.*`. `any other user`: all others. */
  strangers: string[];
  [detail: string]: unknown;
}

export function accessDiffForm({ gained, lost }: AccessDiff<Fact>): Record<Direction, AccessDifferenceForm[]> {
  return { gained: gained.map(differenceForm('gained')), lost: lost.map(differenceForm('lost')) };
}

/** Lines for a terminal, grouped by users. Texts that differ only in the name at the end share a line. */
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
      return { kind, resource: spelledLevels(resource), ...details };
    }
    case 'column-mask':
    case 'hidden-column': {
      const { about: _, resource, column, ...details } = fact;
      return { kind, resource: { ...spelledLevels(resource), column }, ...details };
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
        resource: spelledLevels(fact.resource),
        name: spelledName(fact.resource.routine ?? FRESH_PREFIX),
        privilege: fact.privilege,
      };
    case 'session-property':
      return {
        kind,
        property: spelledName(fact.property),
        ...(fact.catalog !== null && { resource: { catalog: spelledName(fact.catalog) } }),
      };
    case 'system-information':
      return { kind, right: fact.right };
    case 'authorization':
      return { kind, [`new_${fact.to}`]: spelledName(fact.name) };
  }
}

function spelledLevels(resource: Node): NodeForm {
  const namesByLevel = LEVELS.flatMap((level) => {
    const name = resource[level];
    return name === undefined ? [] : [[level, spelledName(name)] as const];
  });
  return Object.fromEntries(namesByLevel.slice(0, namesByLevel.findLastIndex(([, name]) => name !== null) + 1));
}

/** The name. Null: the name is invented, and represents all names that neither file contains. */
function spelledName(name: string): string | null {
  const shownName = displayName(name, '');
  return shownName === '' ? null : shownName;
}

function userName(name: string): string {
  return displayName(name, 'any other user');
}

function describeChange(fact: Fact, direction: Direction): string {
  if (fact.about === 'authorization')
    return `SET AUTHORIZATION to the ${fact.to} ${displayName(fact.name, `(any other ${fact.to})`)}`;
  if (fact.about === 'catalog-ownership') return `create and drop the catalog ${resourceText(fact.resource)}`;
  if (!isRestriction(fact)) return describePermission(fact);
  return `${direction === 'gained' ? 'no longer' : 'now'}: ${describeRestriction(fact)}`;
}

function linesOf(direction: Direction, differences: readonly AccessDifference<Fact>[]): string[] {
  const differencesByUsers = groupBy(differences, ({ people, strangers }) => JSON.stringify([people, strangers]));
  return [...differencesByUsers.values()].flatMap((sameUsersDifferences) => {
    const [{ people, strangers }] = sameUsersDifferences;
    const users = [...new Set([...people, ...strangers.map(userName)])];
    const countText = users.length > 1 ? ` (${users.length})` : '';
    const facts = sameUsersDifferences.map(({ fact }) => fact);
    return [`${direction} by ${users.join(', ')}${countText}:`, ...mergeFacts(facts, direction)];
  });
}

/** Merges texts that differ only in the name at the end: `SELECT from sales.eu.{orders, visits}`. */
function mergeFacts(facts: readonly Fact[], direction: Direction): string[] {
  const factTexts = facts.map((fact) => {
    const changeText = describeChange(fact, direction);
    const nameAtEnd = lastName(fact);
    return nameAtEnd !== null && changeText.endsWith(nameAtEnd)
      ? { head: changeText.slice(0, -nameAtEnd.length), endName: nameAtEnd }
      : { head: changeText, endName: '' };
  });
  return [...groupBy(factTexts, ({ head }) => head)].map(([head, sameHeadTexts]) => {
    const names = [...new Set(sameHeadTexts.map(({ endName: nameAtEnd }) => nameAtEnd))];
    return `  ${head}${names.length > 1 ? `{${names.join(', ')}}` : (names[0] ?? '')}`;
  });
}

/** The name at the end of the text about a right (`fact`); null: the text does not end with a name. */
function lastName(fact: Fact): string | null {
  if (fact.about === 'impersonation') return displayName(fact.newUser, 'a stranger');
  if (fact.about === 'queries' && fact.owner !== undefined) return displayName(fact.owner, 'any other user');
  if (fact.about !== 'privilege' || fact.resource.table === undefined) return null;
  return displayName(fact.resource.table, '(any other table)');
}
