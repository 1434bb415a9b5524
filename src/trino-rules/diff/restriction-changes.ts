import type { Place, Restriction } from '../engine/access-fact.js';
import type { ActualAccess } from '../engine/actual-access.js';
import type { Bitset } from '../engine/sparse-bitset.js';

export interface BeforeAfter<T> {
  before: T;
  after: T;
}

/** A restriction of either outcome, and whom it holds for. */
interface HeldRestriction extends BeforeAfter<Bitset | null> {
  aspect: Restriction;
  /** Whom it makes no difference to: a mask says nothing of a column that is hidden, before or after. */
  except: readonly Bitset[];
}

/** Filters part by part, because one more is a loss and nothing else. */
export function restrictions(place: Place, { before, after }: BeforeAfter<ActualAccess>): HeldRestriction[] {
  const filters = keys(before.filters, after.filters).map((expression) => ({
    aspect: { about: 'row-filter', place, expression } as const,
    before: before.filters.get(expression) ?? null,
    after: after.filters.get(expression) ?? null,
    except: [],
  }));
  const hidden = keys(before.hidden, after.hidden).map((column) => ({
    aspect: { about: 'hidden-column', place, column } as const,
    before: before.hidden.get(column) ?? null,
    after: after.hidden.get(column) ?? null,
    except: [],
  }));
  const masks = keys(before.masks, after.masks).flatMap((column) => {
    const [had, has] = [before.masks.get(column), after.masks.get(column)];
    const except = [before, after].flatMap(({ hidden }) => hidden.get(column) ?? []);
    return keys(had, has).map((expression) => ({
      aspect: { about: 'column-mask', place, column, expression } as const,
      before: had?.get(expression) ?? null,
      after: has?.get(expression) ?? null,
      except,
    }));
  });
  return [...filters, ...hidden, ...masks];
}

function keys(...maps: (ReadonlyMap<string, unknown> | undefined)[]): string[] {
  return [...new Set(maps.flatMap((map) => [...(map?.keys() ?? [])]))];
}
