import { displayName, pathOf } from '../engine/access-fact.js';
import type { Node } from '../model/node.js';

/** Rights that Grantline's own rules never give. A name that no file spells out is a fresh one. */
export type OtherRight =
  | { about: 'authorization'; to: 'user' | 'role'; name: string }
  | { about: 'catalog-ownership'; resource: Node };

export function describeOtherRight(right: OtherRight): string {
  switch (right.about) {
    case 'authorization':
      return `SET AUTHORIZATION to the ${right.to} ${displayName(right.name, `(any other ${right.to})`)}`;
    case 'catalog-ownership':
      return `create and drop the catalog ${pathOf(right.resource)}`;
  }
}
