import { Fragment } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api/client.js';
import { useProvider } from '../api/session.js';
import { momentText, secondText } from '../domain/moment-text.js';
import { addressOfNode, isNonDataNode, namesOf, nodeAt, pathText } from '../domain/node-path.js';
import { type Named, principalName } from '../domain/principal.js';
import { now } from '../now.js';
import { Badge, Icon } from './controls.js';

export type { Named };

/** The page about a principal, if there is one. */
export function addressOf({ type, id }: Named): string | undefined {
  if (id === undefined) return undefined;
  return type === 'user' ? `/people/${id}` : `/groups/${id}`;
}

function initials(name: string): string {
  const [first = '', second = ''] = name.split(/[._\- ]+/);
  return (first.slice(0, 1) + (second.slice(0, 1) || first.slice(1, 2))).toUpperCase();
}

export function Shape({ of: { type, name = '' } }: { of: Named }) {
  const kind = ['user', 'group', 'everyone'].includes(type) ? type : 'engine';
  return (
    <span className={`shape shape--${kind}`} aria-hidden="true">
      {kind === 'user' ? initials(name) : <Icon name={kind} />}
    </span>
  );
}

/** A principal: shape, name and kind; a link if it has a page. */
export function Principal({ of, href }: { of: Named; href?: string | undefined }) {
  const content = (
    <>
      <Shape of={of} />
      <span title={of.name}>{principalName(of)}</span>
      {of.type === 'user' && <span className="hidden"> (person)</span>}
      {of.type === 'group' && <small> group</small>}
      {of.type !== 'user' && of.type !== 'group' && of.type !== 'everyone' && <small> engine</small>}
    </>
  );
  return href === undefined ? (
    <span className="principal">{content}</span>
  ) : (
    <Link className="principal" href={href}>
      {content}
    </Link>
  );
}

/** Whether an account can be used. @param props.isBadge beside a heading */
export function AccountState({ isActive, isBadge = false }: { isActive: boolean; isBadge?: boolean }) {
  if (!isActive) return <Badge text="deactivated" icon="stop" />;
  if (!isBadge) return <span className="dim">active</span>;
  return <Badge text="active" tone="gain" icon="check" />;
}

/** The means of signing in; without any, a link to the one-time password. */
export function SignInMeans({ of: { id, has_password: hasPassword } }: { of: Schemas['AccountResponse'] }) {
  const provider = useProvider().data;
  if (hasPassword) return <>password</>;
  if (provider?.enabled !== false) return provider && <>the identity provider</>;
  return (
    <span className="cannot">
      cannot sign in yet <Link href={`/people/${id}?ask=one-time-password`}>One-time password…</Link>
    </span>
  );
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

const LEVELS = ['root', 'catalog', 'schema', 'table'] as const;

export function NodeIcon({ node }: { node: object }) {
  const { routine } = node as Record<string, unknown>;
  if (isNonDataNode(node)) return <Icon name="gear" />;
  return <Icon name={routine === undefined ? (LEVELS[namesOf(node).length] ?? 'table') : 'sql'} />;
}

/** Breadcrumbs: links to the nodes above a data node, from the root down. */
export function Crumbs({ of }: { of: object }) {
  const names = namesOf(of);
  if (names.length === 0) return null;
  return (
    <ol className="crumbs" aria-label="Path">
      {names.map((_, depth) => {
        const above = names.slice(0, depth);
        return (
          <li key={depth}>
            <Link href={addressOfNode(nodeAt(above))}>{above.at(-1) ?? 'Everything'}</Link>
          </li>
        );
      })}
    </ol>
  );
}

/** Lines end after `|`, `,` and `_`. */
export function Breakable({ text }: { text: string }) {
  return text.split(/(?<=[|,_])/).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

/** A moment in short, or to the second; in full, and in UTC, in its title. */
export function Moment({ at, isExact = false }: { at: string; isExact?: boolean }) {
  return (
    <time dateTime={at} title={at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}>
      {(isExact ? secondText : momentText)(new Date(at), now())}
    </time>
  );
}

type Access = Pick<Schemas['HolderResponse'], 'row_filters' | 'masked_columns' | 'hidden_columns'>;

/** The class of a privilege: outlined if it does more than read, filled if it owns or passes on. */
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

/** Numbers of filters, masks and hidden columns. */
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

/** The ways of an access, as a link to the explanation. @param props.href null: there is none */
export function WhyLink({ href, ways }: WaysProps & { href: string | null }) {
  if (href === null) return <Ways ways={ways} />;
  return (
    <Link className="why" href={href}>
      <Ways ways={ways} />
      <span className="hidden">. Why?</span>
    </Link>
  );
}

/** The first way in words, and the number of others. */
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
