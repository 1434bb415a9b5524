import { Fragment } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api/client.js';
import { useIdentityProvider } from '../api/session.js';
import { momentText, secondText } from '../domain/moment-text.js';
import { addressOfNode, isNonDataNode, namesOf, nodeAt, pathText } from '../domain/node-path.js';
import { type PrincipalRef, principalName } from '../domain/principal.js';
import { now } from '../now.js';
import { Badge, Icon } from './controls.js';

export type { PrincipalRef };

/** The address of the page about a principal; undefined if there is no page. */
export function addressOf({ type, id }: PrincipalRef): string | undefined {
  if (id === undefined) return undefined;
  return type === 'user' ? `/people/${id}` : `/groups/${id}`;
}

function initialsOf(name: string): string {
  const [firstWord = '', secondWord = ''] = name.split(/[._\- ]+/);
  return (firstWord.slice(0, 1) + (secondWord.slice(0, 1) || firstWord.slice(1, 2))).toUpperCase();
}

export function PrincipalIcon({ principal: { type, name = '' } }: { principal: PrincipalRef }) {
  const kind = ['user', 'group', 'everyone'].includes(type) ? type : 'engine';
  return (
    <span className={`shape shape--${kind}`} aria-hidden="true">
      {kind === 'user' ? initialsOf(name) : <Icon name={kind} />}
    </span>
  );
}

/** A principal: icon, name and kind, as a link if `href` is given. */
export function Principal({ principal, href }: { principal: PrincipalRef; href?: string | undefined }) {
  const content = (
    <>
      <PrincipalIcon principal={principal} />
      <span title={principal.name}>{principalName(principal)}</span>
      {principal.type === 'user' && <span className="hidden"> (person)</span>}
      {principal.type === 'group' && <small> group</small>}
      {!['user', 'group', 'everyone'].includes(principal.type) && <small> engine</small>}
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

/** Whether an account is active. @param props.isBadge for use beside a heading */
export function AccountState({ isActive, isBadge = false }: { isActive: boolean; isBadge?: boolean }) {
  if (!isActive) return <Badge text="deactivated" icon="stop" />;
  if (!isBadge) return <span className="dim">active</span>;
  return <Badge text="active" tone="gain" icon="check" />;
}

/** How an account signs in: by password or at the provider. If neither is possible, a link to set a one-time password. */
export function SignInMeans({ account: { id, has_password: hasPassword } }: { account: Schemas['AccountResponse'] }) {
  const provider = useIdentityProvider().data;
  if (hasPassword) return <>password</>;
  if (provider?.enabled !== false) return provider && <>the identity provider</>;
  return (
    <span className="cannot">
      cannot sign in yet <Link href={`/people/${id}?ask=one-time-password`}>One-time password…</Link>
    </span>
  );
}

export function Path({ node }: { node: object }) {
  const names = namesOf(node);
  const deepestName = names.pop() ?? 'everything';
  return (
    <span className="path">
      {names.map((name) => `${name}.`)}
      <b>{deepestName}</b>
    </span>
  );
}

const LEVEL_ICONS = ['root', 'catalog', 'schema', 'table'] as const;

export function NodeIcon({ node }: { node: object }) {
  const { routine } = node as Record<string, unknown>;
  if (isNonDataNode(node)) return <Icon name="gear" />;
  return <Icon name={routine === undefined ? (LEVEL_ICONS[namesOf(node).length] ?? 'table') : 'sql'} />;
}

/** Breadcrumbs: links to the nodes above a data node, from the root down. */
export function Crumbs({ node }: { node: object }) {
  const names = namesOf(node);
  if (names.length === 0) return null;
  return (
    <ol className="crumbs" aria-label="Path">
      {names.map((_, depth) => {
        const path = names.slice(0, depth);
        return (
          <li key={depth}>
            <Link href={addressOfNode(nodeAt(path))}>{path.at(-1) ?? 'Everything'}</Link>
          </li>
        );
      })}
    </ol>
  );
}

/** Text whose lines can break after `|`, `,` and `_`. */
export function BreakableText({ text }: { text: string }) {
  return text.split(/(?<=[|,_])/).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

/** A moment in short form, or to the second. Its tooltip has the full form in UTC. */
export function Moment({ time, isExact = false }: { time: string; isExact?: boolean }) {
  return (
    <time dateTime={time} title={time.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}>
      {(isExact ? secondText : momentText)(new Date(time), now())}
    </time>
  );
}

type Limits = Pick<Schemas['HolderResponse'], 'row_filters' | 'masked_columns' | 'hidden_columns'>;

function privilegeClass(privilege: string): string {
  if (/OWNERSHIP|^GRANT_|IMPERSONATE/.test(privilege)) return ' privilege--own';
  return /^(SELECT|EXECUTE_QUERIES|VIEW_QUERIES|READ_SYSTEM_INFORMATION|EXECUTE_FUNCTION)$/.test(privilege)
    ? ''
    : ' privilege--write';
}

export function Privileges({ names }: { names: readonly string[] }) {
  return (
    <span className="privileges">
      {names.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && ' '}
          <span className={`privilege${privilegeClass(name)}`}>{name}</span>
        </Fragment>
      ))}
    </span>
  );
}

/** The numbers of row filters, masked columns and hidden columns. */
export function Restrictions({ access: { row_filters, masked_columns, hidden_columns } }: { access: Limits }) {
  const limits = [
    ['filter', 'Row filters', row_filters.length, 'row filters'],
    ['mask', 'Masked columns', masked_columns.length, 'masked'],
    ['column', 'Hidden columns', hidden_columns.length, 'hidden'],
  ] as const;
  if (limits.every(([, , count]) => count === 0)) return null;
  return (
    <span className="limits">
      {limits.map(
        ([icon, title, count, hiddenText]) =>
          count > 0 && (
            <span key={icon} title={title}>
              <Icon name={icon} />
              {count}
              <span className="hidden"> {hiddenText} </span>
            </span>
          ),
      )}
    </span>
  );
}

type GrantedThrough = 'directly' | 'everyone' | { group: { name: string } };

interface WaysProps {
  ways: readonly { through: GrantedThrough; inheritedFrom: object | null; expiresAt?: string | null }[];
}

/** The ways by which a principal has an access, as a link to the explanation of the access. @param props.href null: there is no explanation */
export function WhyLink({ href, ways }: WaysProps & { href: string | null }) {
  if (href === null) return <Ways ways={ways} />;
  return (
    <Link className="why" href={href}>
      <Ways ways={ways} />
      <span className="hidden">. Why?</span>
    </Link>
  );
}

function Ways({ ways }: WaysProps) {
  const [firstWay] = ways;
  if (firstWay === undefined) return <>by the settings of this service</>;
  const { through, inheritedFrom, expiresAt } = firstWay;
  return (
    <>
      {typeof through === 'object' && 'through group '}
      <b>{typeof through === 'object' ? through.group.name : through === 'directly' ? 'directly' : 'as everyone'}</b>
      {inheritedFrom !== null && `, inherited from ${pathText(inheritedFrom)}`}
      {expiresAt !== null && expiresAt !== undefined && `, until ${momentText(new Date(expiresAt), now())}`}
      {ways.length > 1 && `, and ${ways.length - 1} more ${ways.length === 2 ? 'way' : 'ways'}`}
    </>
  );
}
