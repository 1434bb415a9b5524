import { useSearchParams } from 'wouter';

/**
 * The act that a dialog asks about, by a parameter of the address: whoever leaves the page to confirm at the provider comes back
 * to the same question, in the same words.
 */
export function useAsked(parameter: string): { asked: string | null; ask: (value: string) => void; close: () => void } {
  const [search, setSearch] = useSearchParams();
  const change = (value: string | null): void =>
    setSearch(
      (before) => {
        const after = withoutReturn(before);
        if (value === null) after.delete(parameter);
        else after.set(parameter, value);
        return after;
      },
      { replace: true },
    );
  return { asked: search.get(parameter), ask: change, close: () => change(null) };
}

/** Why somebody came back from the provider without having confirmed, in parameters of the address. */
export const RETURN = { code: 'error', requestId: 'request_id' } as const;

/** This page and its question, to come back to. */
export function returnAddress(search: URLSearchParams): string {
  return `${location.pathname}?${withoutReturn(search).toString()}`;
}

function withoutReturn(search: URLSearchParams): URLSearchParams {
  const after = new URLSearchParams(search);
  for (const parameter of Object.values(RETURN)) after.delete(parameter);
  return after;
}
