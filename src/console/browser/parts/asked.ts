import { useAddress } from './address.js';

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
