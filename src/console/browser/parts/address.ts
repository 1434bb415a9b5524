import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';

/** The parameters of the address, and a function that changes some of them. An empty value removes a parameter. */
export function useAddress() {
  const [, navigate] = useLocation();
  // Uses location.search, because the router's hook decodes parameters twice.
  const rawSearch = useSearch();
  const search = useMemo(() => new URLSearchParams(location.search), [rawSearch]);
  const replace = (parameters: URLSearchParams, isUndoable = false): void => {
    const query = parameters.size === 0 ? '' : `?${parameters.toString()}`;
    navigate(location.pathname + query, { replace: !isUndoable });
  };
  /** @param isUndoable whether the browser's *back* undoes the change */
  const change = (changes: Readonly<Record<string, string>>, isUndoable = false): void => {
    const parameters = new URLSearchParams(location.search);
    for (const [parameter, value] of Object.entries(changes)) {
      if (value === '') parameters.delete(parameter);
      else parameters.set(parameter, value);
    }
    replace(parameters, isUndoable);
  };
  return { search, change, replace };
}

/** The name of the open dialog, kept in an address parameter, so that the dialog is open again after a confirmation at the provider. */
export function useDialogInAddress(parameter: string) {
  const { search, change } = useAddress();
  const openDialog = (dialogName: string): void =>
    change({ [parameter]: dialogName, [FAILURE_KEYS.code]: '', [FAILURE_KEYS.requestId]: '' });
  return { dialog: search.get(parameter), openDialog, close: () => openDialog('') };
}

/** Parameters with which the provider's sign-in returns a failure. */
export const FAILURE_KEYS = { code: 'error', requestId: 'request_id' } as const;

/** The path of this page with parameters, to which a sign-in at the provider returns. */
export function returnAddress(search: URLSearchParams): string {
  const keptParameters = new URLSearchParams(search);
  for (const parameter of Object.values(FAILURE_KEYS)) keptParameters.delete(parameter);
  return `${location.pathname}?${keptParameters.toString()}`;
}

/** The most characters of a form in the address. The whole return address of a sign-in may have 1,000. */
const MAX_DRAFT_LENGTH = 900;

/**
 * A form whose first values come from the address. Changes are written back to the address.
 * @param read makes a form from address parameters @param write makes address parameters from a form
 * @returns the form, its setter, and whether the form is short enough for the address
 */
export function useFormInAddress<F>(read: (address: URLSearchParams) => F, write: (form: F) => URLSearchParams) {
  const { search, replace } = useAddress();
  const [form, setForm] = useState(() => read(search));
  const address = write(form);
  const text = address.toString();
  const writtenText = useRef(text);
  // The address changes after a delay, because browsers limit how often it may change.
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text === writtenText.current || text.length > MAX_DRAFT_LENGTH) return;
      writtenText.current = text;
      const dialog = new URLSearchParams(location.search).get('ask');
      if (dialog !== null) address.set('ask', dialog); // a dialog that was opened meanwhile stays open
      replace(address);
    }, 400);
    return () => clearTimeout(timer);
  }, [text]);
  return [form, setForm, text.length <= MAX_DRAFT_LENGTH] as const;
}

/** Asks for confirmation before a link, a reload or closing the tab would discard unsaved changes. */
export function useUnsavedWarning(hasUnsavedChanges: boolean): void {
  useEffect(() => {
    if (!hasUnsavedChanges) return;
    const preventUnload = (event: Event): void => event.preventDefault();
    const confirmLink = (event: MouseEvent): void => {
      const link = event.target instanceof Element && event.target.closest('a[href^="/"]:not([target])');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (confirm('Leave this page? Its changes are not saved.')) return;
      event.preventDefault();
      event.stopPropagation();
    };
    window.addEventListener('beforeunload', preventUnload);
    document.addEventListener('click', confirmLink, true);
    return () => {
      window.removeEventListener('beforeunload', preventUnload);
      document.removeEventListener('click', confirmLink, true);
    };
  }, [hasUnsavedChanges]);
}

/** The last value that did not change for `delayMs` milliseconds. */
export function useDebounced<T>(value: T, delayMs: number): T {
  const [debouncedValue, setDebouncedValue] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebouncedValue(value), delayMs);
    return () => clearTimeout(timer);
  }, [value, delayMs]);
  return debouncedValue;
}
