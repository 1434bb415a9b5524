import { Link } from 'wouter';
import { Icon } from './icon.js';

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

/** The page of a node: of a routine its schema's, of the engine and of acting its own. */
export function addressOf(node: object): string {
  const { catalog, schema, table, engine, as } = node as Record<string, unknown>;
  if (engine === true || as !== undefined) return '/engine';
  const names = [catalog, schema, table].filter((name) => typeof name === 'string');
  return ['/data', ...names.map(encodeURIComponent)].join('/');
}

const LEVELS = ['root', 'catalog', 'schema', 'table'] as const;

export function NodeIcon({ node }: { node: object }) {
  const { routine, engine, as } = node as Record<string, unknown>;
  if (engine === true || as !== undefined) return <Icon name="gear" />;
  return <Icon name={routine === undefined ? (LEVELS[namesOf(node).length] ?? 'table') : 'sql'} />;
}

/** The nodes above a node of the data, from everything down. */
export function Crumbs({ of }: { of: { catalog?: string; schema?: string; table?: string } }) {
  const { catalog, schema, table } = of;
  const above = [
    ...(catalog === undefined ? [] : [{ name: 'Everything', node: {} }]),
    ...(catalog === undefined || schema === undefined ? [] : [{ name: catalog, node: { catalog } }]),
    ...(schema === undefined || table === undefined ? [] : [{ name: schema, node: { catalog, schema } }]),
  ];
  if (above.length === 0) return null;
  return (
    <ol className="crumbs" aria-label="Path">
      {above.map(({ name, node }) => (
        <li key={addressOf(node)}>
          <Link href={addressOf(node)}>{name}</Link>
        </li>
      ))}
    </ol>
  );
}
