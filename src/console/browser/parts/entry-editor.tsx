import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import type { VersionedBody } from '../api/client.js';
import { refreshAccess } from '../api/entries.js';
import { queryClient } from '../api/session.js';
import { differencesOf, type FieldTexts } from '../domain/grant-form.js';
import { clockTime } from '../domain/moment-text.js';
import { useFormInAddress } from './address.js';
import { Button } from './controls.js';
import { Notice } from './notice.js';

interface EditedKind<T, F> {
  /** The word for one entry: *policy*. Also the first word of the cache key of the entry in the form. */
  name: string;
  folder: string;
  read: (id: number) => Promise<VersionedBody<T>>;
  formOf: (entry: T) => F;
  newForm: F;
  fromAddress: (address: URLSearchParams, savedForm: F) => F;
  toAddress: (form: F, savedForm: F) => URLSearchParams;
  fields: FieldTexts<F>;
  lastActor: (entry: T) => ReactNode;
}

interface Entry {
  id: number;
  changed_at: string;
}

/** An entry for its form. @param id null: nothing is read @param isReadOnFocus whether it is read again when the window gets the focus */
export function useEditedEntry<T, F>({ name, read }: EditedKind<T, F>, id: number | null, isReadOnFocus = false) {
  return useQuery({
    queryKey: [name, id],
    enabled: id !== null,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: isReadOnFocus ? 'always' : false,
    queryFn: () => read(id ?? 0),
  });
}

/**
 * The form of an entry. A version that somebody else saves meanwhile is taken over, unless the form has changes.
 * @param loadedEntry null: the entry is new @param onRebase called when the form continues with the version of somebody else
 */
export function useEntryEditor<T extends Entry, F>(
  kind: EditedKind<T, F>,
  loadedEntry: VersionedBody<T> | null,
  onRebase?: () => void,
) {
  /** The saved entry that the form changes; null: the entry is new. */
  const [base, setBase] = useState(loadedEntry);
  const savedForm = base === null ? kind.newForm : kind.formOf(base.body);
  const [form, setForm, isInAddress] = useFormInAddress(
    (address) => kind.fromAddress(address, savedForm),
    (draft) => kind.toAddress(draft, savedForm),
  );
  const [, navigate] = useLocation();
  const address = kind.toAddress(form, savedForm);
  const isUnchanged = address.size === 0;
  const savedEntry = useEditedEntry(kind, base?.body.id ?? null, isUnchanged).data;
  const theirs = savedEntry !== undefined && savedEntry.version !== base?.version ? savedEntry : null;
  const rebase = (newBase: VersionedBody<T>, newForm: F): void => {
    setBase(newBase);
    setForm(newForm);
    onRebase?.();
  };
  useEffect(() => {
    if (theirs !== null && isUnchanged) rebase(theirs, kind.formOf(theirs.body));
  });
  const change = (changes: Partial<F>): void => setForm((oldForm) => ({ ...oldForm, ...changes }));
  const onSaved = async (saved: VersionedBody<T>, sentForm: F): Promise<void> => {
    const { id } = saved.body;
    await queryClient.cancelQueries({ queryKey: [kind.name, id] });
    queryClient.setQueryData([kind.name, id], saved);
    setBase(saved);
    // If text was typed during the request, the form keeps the text and the page stays open.
    const isFormUnchanged = form === sentForm;
    if (isFormUnchanged) setForm(kind.formOf(saved.body));
    await refreshAccess(() => isFormUnchanged && loadedEntry === null && navigate(`${kind.folder}/${id}`));
  };
  return { kind, base, savedForm, form, change, address, isInAddress, isUnchanged, theirs, rebase, onSaved };
}

/** Shows two versions of an entry until one is chosen: the version in the form, and the version that somebody else has saved meanwhile. */
export function ChangedMeanwhile<T extends Entry, F>({ editor }: { editor: ReturnType<typeof useEntryEditor<T, F>> }) {
  const { kind, theirs, form, isUnchanged, rebase } = editor;
  const [isComparing, setComparing] = useState(false);
  if (theirs === null || isUnchanged) return null;
  const theirForm = kind.formOf(theirs.body);
  const differences = differencesOf(kind.fields, theirForm, form);
  return (
    <Notice
      tone="warn"
      role="alert"
      title="Changed meanwhile"
      actions={
        isComparing ? (
          <>
            <Button text="Take theirs" look="small" onClick={() => rebase(theirs, theirForm)} />
            <Button text="Keep mine" look="small" onClick={() => rebase(theirs, form)} />
          </>
        ) : (
          <Button text="Compare" look="small" onClick={() => setComparing(true)} />
        )
      }
    >
      <p>
        {kind.lastActor(theirs.body)} changed this {kind.name} at {clockTime(new Date(theirs.body.changed_at))}, while
        you were editing. Nothing is saved or lost.
      </p>
      {isComparing && (
        <dl className="facts facts--rows">
          {differences.map(({ field, theirText, myText }) => (
            <div key={field}>
              <dt>{field}</dt>
              <dd>
                {theirText === '' ? 'nothing' : theirText}
                <small>yours: {myText === '' ? 'nothing' : myText}</small>
              </dd>
            </div>
          ))}
          {differences.length === 0 && <p>Theirs is the same as yours.</p>}
        </dl>
      )}
    </Notice>
  );
}
