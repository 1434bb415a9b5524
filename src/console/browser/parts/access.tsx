import { Fragment } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api/client.js';
import { momentText } from '../domain/moment-text.js';
import { pathText } from '../domain/node-path.js';
import { now } from '../now.js';
import { Icon } from './icon.js';

type Access = Pick<Schemas['HolderResponse'], 'row_filters' | 'masked_columns' | 'hidden_columns'>;

/** Privileges that do more than read are outlined, those that own or pass on are filled: weight says how much it is. */
function weightOf(privilege: string): string {
  if (/OWNERSHIP|^GRANT_|IMPERSONATE/.test(privilege)) return ' privilege--own';
  return /^(SELECT|EXECUTE_QUERIES|VIEW_QUERIES|READ_SYSTEM_INFORMATION|EXECUTE_FUNCTION)$/.test(privilege)
    ? ''
    : ' privilege--write';
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

type Through = 'directly' | 'everyone' | { group: { name: string } };

interface WaysProps {
  ways: readonly { through: Through; from: object | null; until?: string | null }[];
}

/** Through what somebody has access, leading to the explanation. @param props.href null: there is none */
export function WhyLink({ href, ways }: WaysProps & { href: string | null }) {
  if (href === null) return <Ways ways={ways} />;
  return (
    <Link className="why" href={href}>
      <Ways ways={ways} />
      <span className="hidden">. Why?</span>
    </Link>
  );
}

/** The first way in words, and how many more there are. */
function Ways({ ways }: WaysProps) {
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
      {until !== null && until !== undefined && `, until ${momentText(new Date(until), now())}`}
      {ways.length > 1 && `, and ${ways.length - 1} more ${ways.length === 2 ? 'way' : 'ways'}`}
    </>
  );
}
