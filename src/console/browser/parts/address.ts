import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';

/** The parameters of the address, and a function that changes some of them; empty values remove a parameter. */
export function useAddress() {
  const [, navigate] = useLocation();
  // The router's own hook for parameters decodes them twice.
  const text = useSearch();
  const search = useMemo(() => new URLSearchParams(location.search), [text]);
  const replace = (all: URLSearchParams, isStep = false): void =>
    navigate(`${location.pathname}${all.size === 0 ? '' : `?${all.toString()}`}`, { replace: !isStep });
  /** @param isStep *back* returns to the address before */
  const change = (part: Readonly<Record<string, string>>, isStep = false): void => {
    const after = new URLSearchParams(location.search);
    for (const [parameter, value] of Object.entries(part)) {
      if (value === '') after.delete(parameter);
      else after.set(parameter, value);
    }
    replace(after, isStep);
  };
  return { search, change, replace };
}

/** The act that a dialog asks about, in a parameter of the address: after a confirmation at the provider it is open again. */
export function useAsked(parameter: string): { asked: string | null; ask: (value: string) => void; close: () => void } {
  const { search, change } = useAddress();
  const ask = (value: string): void =>
    change({ [parameter]: value, [RETURN_KEYS.code]: '', [RETURN_KEYS.requestId]: '' });
  return { asked: search.get(parameter), ask, close: () => ask('') };
}

/** Parameters with which the provider's sign-in returns a failure. */
export const RETURN_KEYS = { code: 'error', requestId: 'request_id' } as const;

/** The address of this page and its question, for the way back. */
export function returnAddress(search: URLSearchParams): string {
  const kept = new URLSearchParams(search);
  for (const parameter of Object.values(RETURN_KEYS)) kept.delete(parameter);
  return `${location.pathname}?${kept.toString()}`;
}

/** Characters of a draft in an address: the way back from a sign-in takes 1,000 in all. */
const LONGEST = 900;

/**
 * A form that begins with the address and is kept in it.
 * @param read the form of an address @param write its inverse
 * @returns the form, its setter, and whether the address can hold it
 */
export function useFormInAddress<F>(read: (address: URLSearchParams) => F, write: (form: F) => URLSearchParams) {
  const { search, replace } = useAddress();
  const [form, setForm] = useState(() => read(search));
  const address = write(form);
  const text = address.toString();
  const shown = useRef(text);
  // After a pause, because browsers limit updates of the address. Not in an effect, which may run after the page was left.
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text === shown.current || text.length > LONGEST) return;
      shown.current = text;
      replace(address);
    }, 400);
    return () => clearTimeout(timer);
  }, [text]);
  return [form, setForm, text.length <= LONGEST] as const;
}

/** Asks before unsaved changes are left, by a link, a reload or a closed tab. */
export function useUnsaved(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return;
    const unload = (event: Event): void => event.preventDefault();
    const follow = (event: MouseEvent): void => {
      const link = event.target instanceof Element && event.target.closest('a[href^="/"]:not([target])');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (confirm('Leave this page? Its changes are not saved.')) return;
      event.preventDefault();
      event.stopPropagation();
    };
    window.addEventListener('beforeunload', unload);
    document.addEventListener('click', follow, true);
    return () => {
      window.removeEventListener('beforeunload', unload);
      document.removeEventListener('click', follow, true);
    };
  }, [isChanged]);
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
