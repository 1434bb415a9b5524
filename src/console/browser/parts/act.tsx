import { useMutation } from '@tanstack/react-query';
import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { isProblem, Problem } from '../api/client.js';
import { type Draft, usePreview } from '../api/drafts.js';
import { confirmAtProvider, confirmByPassword, refreshStart, useStart } from '../api/session.js';
import { RETURN_KEYS, returnAddress, useAddress, useAsked } from './address.js';
import { DraftGuarantees, Side } from './changes.js';
import { Button } from './controls.js';
import { Form, type FormProps, HiddenUsername, PasswordField } from './form.js';
import { Failure } from './notice.js';

interface ActProps<T> extends Omit<DialogActProps<T>, 'close'> {
  /** The act in the address. */
  slug?: string;
  /** Properties of the button that opens the dialog; its text is the act. */
  button?: ComponentProps<typeof Button>;
}

/** A button whose action is confirmed in a dialog. The address names the dialog, which opens again after a sign-in at the provider. */
export function Act<T>({ slug, button, ...props }: ActProps<T>) {
  const { asked, ask, close } = useAsked('ask');
  const own = slug ?? props.act.toLowerCase().replaceAll(' ', '-');
  return (
    <>
      <Button text={props.act} {...button} onClick={() => ask(own)} />
      {asked === own && <DialogAct {...props} close={close} />}
    </>
  );
}

interface DialogActProps<T> {
  /** *Approve this change?* */
  title: string;
  /** The button: verb and object. */
  act: string;
  isDanger?: boolean | undefined;
  asks?: Asks;
  run: (password: string) => Promise<T>;
  close: () => void;
  done?: (result: T) => unknown;
  /** The same act as a draft, and the side of its preview that can have entries. */
  preview?: { draft: Draft; side: 'gains' | 'loses' };
  /** What follows from it; as a function of whether it can be done without leaving for the provider. */
  children?: ReactNode | ((isHere: boolean) => ReactNode);
}

/** Asks before an act that cannot be undone, and for a proof of who acts where the act needs one. */
export function DialogAct<T>({ title, close, asks, done, preview, children, ...ofForm }: DialogActProps<T>) {
  return (
    <Dialog title={title} close={close}>
      <ProofForm
        {...ofForm}
        asks={asks}
        canRetry={asks === undefined}
        close={close}
        done={(result) => {
          // Immediately, because the preview of a completed action would be refused.
          flushSync(close);
          done?.(result);
        }}
      >
        {(isHere, isActing) => (
          <>
            <div className="dim">{typeof children === 'function' ? children(isHere) : children}</div>
            {preview !== undefined && <Consequence {...preview} isActing={isActing} />}
          </>
        )}
      </ProofForm>
    </Dialog>
  );
}

type ConsequenceProps = NonNullable<DialogActProps<unknown>['preview']> & { isActing: boolean };

/** Who gains or loses by an act. */
function Consequence({ draft, side, isActing }: ConsequenceProps) {
  const { preview, error, retry } = usePreview(draft, isActing);
  if (error !== null) return <Failure problem={error} retry={retry} />;
  if (preview === null) return <p role="status">Computing who {side}</p>;
  return (
    <>
      {side === 'loses' && <DraftGuarantees of={preview} />}
      <Side of={preview} side={side} />
    </>
  );
}

/** A dialog named after its act. Esc closes it where it can be closed; the focus goes back to what opened it. */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // The browser would focus the read-only user name, which only password managers need.
    const field = dialog.current?.querySelector<HTMLElement>('input:not([readonly]), textarea');
    (field ?? dialog.current?.querySelector('button'))?.focus();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      className="dialog"
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
      // Browsers close a dialog at the second Esc, even if the first was prevented.
      onClose={() => (close === undefined ? dialog.current?.showModal() : close())}
    >
      <div className="stack stack--mid">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/**
 * The proof that an action requires besides confirmation. `proof`: the password, or a sign-in at the provider, which returns to this address.
 * `recent proof`: the same, unless the last proof is recent enough. `password`: the password itself, for `run`.
 */
type Asks = 'proof' | 'recent proof' | 'password' | undefined;

interface ProofFormProps<T> extends Omit<FormProps, 'doing' | 'away' | 'children'> {
  asks: Asks;
  /** The values that `run` sends. When they change, a shown failure disappears. */
  values?: unknown;
  run: (password: string) => Promise<T>;
  done: (result: T) => void;
  /**
   * @param isHere it can be done without leaving for the provider, where typed text would be lost
   * @param isActing it is being done
   */
  children: (isHere: boolean, isActing: boolean) => ReactNode;
}

/** The form of an act that needs a proof of who acts. */
export function ProofForm<T>({ asks, values, run, done, act, isDanger, children, ...ofForm }: ProofFormProps<T>) {
  const [password, setPassword] = useState('');
  const { search } = useAddress();
  const account = useStart().data?.account;
  const isRecent = asks === 'recent proof' && account?.is_confirmed === true;
  const withPassword = asks !== undefined && account?.has_password === true && !isRecent;
  const withProvider = asks !== undefined && asks !== 'password' && account?.has_password === false;
  const mustLeave = withProvider && !account.is_confirmed;
  const isOld = withProvider || asks === 'recent proof';
  useEffect(() => {
    if (isOld) void refreshStart(); // the last proof may be too old by now
  }, [isOld]);
  const acting = useMutation({
    mutationFn: async () => {
      if (withPassword && asks !== 'password') await confirmByPassword(password);
      return run(password);
    },
    onSuccess: (result) => {
      if (withPassword) void refreshStart();
      done(result);
    },
    onError: (error) => {
      if (isProblem(error, 'reauthentication_required')) void refreshStart();
    },
  });
  useEffect(() => {
    if (acting.isError) acting.reset();
  }, [values]);
  const leaving = useMutation({ mutationFn: () => confirmAtProvider(returnAddress(search)) });
  return (
    <Form
      {...ofForm}
      doing={mustLeave ? leaving : acting}
      act={mustLeave ? 'Confirm at the provider' : act}
      isDanger={isDanger === true && !mustLeave}
    >
      {children(!mustLeave, acting.isPending)}
      {withPassword && (
        <>
          <HiddenUsername username={account.username} />
          <PasswordField label="Your password, to confirm" value={password} set={setPassword} />
        </>
      )}
      {withProvider && <ProviderProof isConfirmed={account.is_confirmed} />}
    </Form>
  );
}

/** Why nothing was confirmed. */
const TEXTS = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was confirmed.',
  other_person: 'Somebody else signed in at the provider. Sign in there as yourself.',
  not_signed_in_anew: 'The provider did not ask you to sign in anew. Nothing was confirmed.',
  other: 'The provider sent you back, and nothing was confirmed.',
};

/** The part of a dialog for people without a password, who confirm at the provider. */
function ProviderProof({ isConfirmed }: { isConfirmed: boolean }) {
  if (isConfirmed) return <p role="status">You confirmed at the provider.</p>;
  return (
    <>
      <p className="hint">You sign in at the provider once more, and come back to this question.</p>
      <ReturnFailure texts={TEXTS} />
    </>
  );
}

/** Why a sign-in at the provider failed, by the code in the return address. @param props.texts by code; `other` for codes without a text */
export function ReturnFailure({ texts }: { texts: Readonly<Record<string, string>> & { other: string } }) {
  const { search } = useAddress();
  const code = search.get(RETURN_KEYS.code);
  if (code === null) return null;
  return (
    <Failure problem={new Problem(0, code, texts[code] ?? texts.other, search.get(RETURN_KEYS.requestId), null, [])} />
  );
}
