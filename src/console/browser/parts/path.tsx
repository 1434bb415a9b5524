import { Link } from 'wouter';
import { addressOfNode, isBesideData, namesOf } from '../domain/node-path.js';
import { Icon } from './icon.js';

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
  if (isBesideData(node)) return <Icon name="gear" />;
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
        <li key={addressOfNode(node)}>
          <Link href={addressOfNode(node)}>{name}</Link>
        </li>
      ))}
    </ol>
  );
}
