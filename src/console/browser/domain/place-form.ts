import { NO_NAMES, type NodeNames, nodeOfNames } from './node-path.js';
import type { Named } from './principal.js';
import type { Node } from './privileges.js';

/** On what a grant or a policy can be. */
export const PLACES = ['data', 'routine', 'engine', 'queries', 'acting'] as const;
export type Place = (typeof PLACES)[number];

/** What the fields of a node hold, whatever kind of node it is. */
export interface PlaceForm extends NodeNames {
  place: Place;
  routine: string;
  as: Named | null;
  /** Whose queries. */
  queries: Named | null;
}

export const NO_PLACE: PlaceForm = { ...NO_NAMES, place: 'data', routine: '', as: null, queries: null };

/** The node that a form names; null: it is not whole. */
export function nodeOfForm({ place, catalog, schema, table, routine, as, queries }: PlaceForm): Node | null {
  switch (place) {
    case 'data':
      return nodeOfNames({ catalog, schema, table });
    case 'routine':
      return routine === '' ? nodeOfNames({ catalog, schema, table: '' }) : { catalog, schema, routine };
    case 'engine':
      return { engine: true };
    case 'queries':
      return queries === null ? null : { queries: queries as Exclude<Node['queries'], undefined> };
    case 'acting':
      return as === null ? null : { as: as as Exclude<Node['as'], undefined> };
  }
}

/** A node that has the privileges which a form offers, whatever it lacks yet. */
export function offeredAt(form: PlaceForm): Node {
  if (form.place === 'routine') return { catalog: '-', schema: '-', routine: '-' };
  const everyone = { type: 'everyone' } as const;
  return nodeOfForm(form) ?? (form.place === 'queries' ? { queries: everyone } : { as: everyone });
}

/** The fields that name a node. */
export function placeOfNode(node: object): PlaceForm {
  const { engine, as, queries, routine = '', ...names } = node as Node;
  const beside = engine === true ? 'engine' : as ? 'acting' : queries ? 'queries' : null;
  const place = beside ?? (routine !== '' ? 'routine' : 'data');
  const { catalog = '', schema = '', table = '' } = names;
  return { place, catalog, schema, table, routine, as: as ?? null, queries: queries ?? null };
}
