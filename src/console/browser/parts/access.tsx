import { Fragment } from 'react';
import type { Schemas } from '../api/client.js';
import { Icon } from './icon.js';
import { momentText } from './moment.js';

export type Node = Schemas['OriginResponse']['inherited_from'] | Record<string, unknown> | null;
type Access = Pick<Schemas['HolderResponse'], 'row_filters' | 'masked_columns' | 'hidden_columns'>;

/** Privileges that do more than read are outlined, those that own or pass on are filled: weight says how much it is. */
function weightOf(privilege: string): string {
  if (/OWNERSHIP|^GRANT_|IMPERSONATE/.test(privilege)) return ' privilege--own';
  return /^(SELECT|VIEW_QUERIES|READ_SYSTEM_INFORMATION|EXECUTE_FUNCTION)$/.test(privilege) ? '' : ' privilege--write';
}

export function Privileges({ names }: { names: readonly string[] }) {
  return (
    <span className="privileges">
      {names.map((name, at) => (
        <Fragment key={name}>
          {at > 0 && ' '}
          <span className={`privilege${weightOf(name)}`}>{name}</span>
        </Fragment>
      ))}
    </span>
  );
}

/** How many filters, masks and hidden columns restrict reading. */
export function Limits({ of: { row_filters, masked_columns, hidden_columns } }: { of: Access }) {
  const limits = [
    ['filter', 'Row filters', row_filters.length, 'row filters'],
    ['mask', 'Masked columns', masked_columns.length, 'masked'],
    ['column', 'Hidden columns', hidden_columns.length, 'hidden'],
  ] as const;
  if (limits.every(([, , count]) => count === 0)) return null;
  return (
    <span className="limits">
      {limits.map(
        ([icon, title, count, word]) =>
          count > 0 && (
            <span key={icon} title={title}>
              <Icon name={icon} />
              {count}
              <span className="hidden"> {word} </span>
            </span>
          ),
      )}
    </span>
  );
}

/** The parts of a node's name, such as catalog, schema and table; none: everything. */
export function namesOf(node: object): string[] {
  const { catalog, schema, table, routine, engine, as } = node as Record<string, unknown>;
  if (engine === true) return ['the engine'];
  if (as !== undefined) return [`acting as ${nameOfPrincipal(as)}`];
  return [catalog, schema, table, routine].filter((name) => typeof name === 'string');
}

export function nameOfPrincipal(principal: unknown): string {
  const { name, id, type } = principal as { name?: string; id?: number; type: string };
  return name ?? (type === 'everyone' ? 'Everyone' : `${type} ${id ?? ''}`);
}

export function pathText(node: object): string {
  return namesOf(node).join('.') || 'everything';
}

/** A node as SQL writes it, the last name strong. */
export function Path({ node }: { node: object }) {
  const names = namesOf(node);
  const last = names.pop() ?? 'everything';
  return (
    <span className="path">
      {names.map((name) => `${name}.`)}
      <b>{last}</b>
    </span>
  );
}

type Through = 'directly' | 'everyone' | { group: { name: string } };

/** Through what somebody has access: the first way in words, and how many more there are. */
export function Ways({ ways }: { ways: readonly { through: Through; from: object | null; until?: string | null }[] }) {
  const [first] = ways;
  if (first === undefined) return <>by the settings of this service</>;
  const { through, from, until } = first;
  return (
    <>
      {typeof through === 'object' ? (
        <>
          through group <b>{through.group.name}</b>
        </>
      ) : (
        <b>{through === 'directly' ? 'directly' : 'as everyone'}</b>
      )}
      {from !== null && `, inherited from ${pathText(from)}`}
      {until !== null && until !== undefined && `, until ${momentText(new Date(until))}`}
      {ways.length > 1 && `, and ${ways.length - 1} more ${ways.length === 2 ? 'way' : 'ways'}`}
    </>
  );
}
