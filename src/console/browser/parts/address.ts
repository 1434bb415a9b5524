import { useSearchParams } from 'wouter';
import { useEffect, useState } from 'react';

/** The parameters of the address, and how to change some of them: those that are empty are left out. */
export function useAddress() {
  const [search, setSearch] = useSearchParams();
  /** @param isStep *back* comes to the address before it */
  const change = (part: Readonly<Record<string, string>>, isStep = false): void =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [parameter, value] of Object.entries(part)) {
          if (value === '') after.delete(parameter);
          else after.set(parameter, value);
        }
        return after;
      },
      { replace: !isStep },
    );
  return { search, change };
}

/**
 * The act that a dialog asks about, by a parameter of the address: whoever leaves the page to confirm at the provider comes back
 * to the same question, in the same words.
 */
export function useAsked(parameter: string): { asked: string | null; ask: (value: string) => void; close: () => void } {
  const { search, change } = useAddress();
  const ask = (value: string): void => change({ [parameter]: value, [RETURN.code]: '', [RETURN.requestId]: '' });
  return { asked: search.get(parameter), ask, close: () => ask('') };
}

/** Why somebody came back from the provider without having confirmed, in parameters of the address. */
export const RETURN = { code: 'error', requestId: 'request_id' } as const;

/** This page and its question, to come back to. */
export function returnAddress(search: URLSearchParams): string {
  const kept = new URLSearchParams(search);
  for (const parameter of Object.values(RETURN)) kept.delete(parameter);
  return `${location.pathname}?${kept.toString()}`;
}

/** A value once it has not changed for so many milliseconds. */
export function useSettled<T>(value: T, pause: number): T {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}
