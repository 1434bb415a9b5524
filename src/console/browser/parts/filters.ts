import type { ReactNode } from 'react';
import { useAddress } from './address.js';

/** One thing that a list can be asked for: a token on its bar, and a parameter of the address. */
export interface Filter {
  parameter: string;
  /** The key on its token. */
  name: string;
  /** The values that there are; without them, and without a field, text is typed. */
  choices?: readonly { value: string; text: string }[];
  /** Of a field that is typed into. */
  type?: 'text' | 'datetime-local';
  /** A field of its own, such as a combobox of people. */
  field?: (choose: (value: string) => void) => ReactNode;
  /** A value as its token shows it. */
  show?: (value: string) => ReactNode;
}

/** The parameter of the search. */
export const SEARCH = 'q';

/**
 * What the address asks for, by parameter, and how to ask for something else. Values that a filter does not have are left out,
 * as if nobody had asked.
 */
export function useFilters(filters: readonly Filter[]) {
  const { search, change } = useAddress();
  const asked: Record<string, string> = {};
  const text = search.get(SEARCH) ?? '';
  if (text !== '') asked[SEARCH] = text;
  for (const { parameter, choices } of filters) {
    const value = search.get(parameter) ?? '';
    const isKnown = choices?.some((choice) => choice.value === value) ?? true;
    if (value !== '' && isKnown) asked[parameter] = value;
  }
  /** Empty: not asked for any more. A search replaces the address, so that *back* skips half-typed words. */
  const ask = (parameter: string, value: string): void => change({ [parameter]: value }, parameter !== SEARCH);
  return { asked: asked as Readonly<Record<string, string>>, ask };
}
