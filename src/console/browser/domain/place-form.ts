import { nodeOfNames, type NodeNames, NO_NAMES } from './node-names.js';
import type { Named } from './principal-parameter.js';
import type { Node } from './privileges.js';

/** On what a grant or a policy can be. */
export const PLACES = ['data', 'routine', 'engine', 'acting'] as const;
export type Place = (typeof PLACES)[number];

/** What the fields of a node hold, whatever kind of node it is. */
export interface PlaceForm extends NodeNames {
  place: Place;
  routine: string;
  as: Named | null;
}

export const NO_PLACE: PlaceForm = { ...NO_NAMES, place: 'data', routine: '', as: null };

/** The node that a form names; null: it is not whole. */
export function nodeOfForm({ place, catalog, schema, table, routine, as }: PlaceForm): Node | null {
  switch (place) {
    case 'data':
      return nodeOfNames({ catalog, schema, table });
    case 'routine':
      return routine === '' ? nodeOfNames({ catalog, schema, table: '' }) : { catalog, schema, routine };
    case 'engine':
      return { engine: true };
    case 'acting':
      return as === null ? null : { as: as as Exclude<Node['as'], undefined> };
  }
}

/** A node that has the privileges which a form offers, whatever it lacks yet. */
export function offeredAt(form: PlaceForm): Node {
  if (form.place === 'routine') return { catalog: '-', schema: '-', routine: '-' };
  return nodeOfForm(form) ?? { as: { type: 'everyone' } };
}

/** The fields that name a node. */
export function placeOfNode(node: object): PlaceForm {
  const { engine, as, routine = '', ...names } = node as Node;
  const place = engine === true ? 'engine' : as !== undefined ? 'acting' : routine !== '' ? 'routine' : 'data';
  const { catalog = '', schema = '', table = '' } = names;
  return { place, catalog, schema, table, routine, as: as ?? null };
}
