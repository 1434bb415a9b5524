import { Link } from 'wouter';
import { type Named, principalName } from '../domain/principal.js';
import { Icon } from './icon.js';

export type { Named };

/** The page about somebody, if there is one. */
export function addressOf({ type, id }: Named): string | undefined {
  if (id === undefined) return undefined;
  return type === 'user' ? `/people/${id}` : `/groups/${id}`;
}

function initials(name: string): string {
  const [first = '', second = ''] = name.split(/[._\- ]+/);
  return (first.slice(0, 1) + (second.slice(0, 1) || first.slice(1, 2))).toUpperCase();
}

export function Shape({ of: { type, name = '' } }: { of: Named }) {
  if (type === 'user') {
    return (
      <span className="shape" aria-hidden="true">
        {initials(name)}
      </span>
    );
  }
  const kind = type === 'group' || type === 'everyone' ? type : 'engine';
  return (
    <span className={`shape shape--${kind}`} aria-hidden="true">
      <Icon name={kind} />
    </span>
  );
}

/** Somebody, by shape, name and word; a link where there is a page. */
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
