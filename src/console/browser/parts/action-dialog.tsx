import { useMutation } from '@tanstack/react-query';
import { type ComponentProps, type ReactNode, useEffect, useState } from 'react';
import { flushSync } from 'react-dom';
import { api, bodyOf, isProblem } from '../api/client.js';
import { type Draft, usePreview } from '../api/entries.js';
import { confirmAtProvider, refreshConsoleStart, useConsoleStart } from '../api/session.js';
import { returnAddress, useAddress, useDialogInAddress } from './address.js';
import { DraftGuarantees, DraftOutcomes, MorePeople } from './changes.js';
import { Button } from './controls.js';
import { Dialog } from './dialog.js';
import { Form, type FormProps, HiddenUsername, PasswordField } from './form.js';
import { Failure, ReturnFailure } from './notice.js';

interface ActionButtonProps<T> extends Omit<ActionDialogProps<T>, 'close'> {
  /** The value of the address parameter that opens the dialog. Default: made from `action`. */
  slug?: string;
  button?: ComponentProps<typeof Button>;
}

/** A button whose action is confirmed in a dialog. The address contains the dialog's name, so that a sign-in at the provider returns to the open dialog. */
export function ActionButton<T>({ slug, button, ...props }: ActionButtonProps<T>) {
  const { dialog, openDialog, close } = useDialogInAddress('ask');
  const dialogSlug = slug ?? props.action.toLowerCase().replaceAll(' ', '-');
  return (
    <>
      <Button text={props.action} {...button} onClick={() => openDialog(dialogSlug)} />
      {dialog === dialogSlug && <ActionDialog {...props} close={close} />}
    </>
  );
}

interface ActionDialogProps<T> {
  title: string;
  action: string;
  isDanger?: boolean | undefined;
  proof?: RequiredProof;
  run: (password: string) => Promise<T>;
  close: () => void;
  onDone?: (result: T) => unknown;
  /** The action as a draft to preview, and whether the preview shows gains or losses. */
  preview?: { draft: Draft; direction: 'gains' | 'loses' };
  /** The text on the consequences of the action. `mayActNow` is false until the person has signed in at the provider, if that is required. */
  children?: ReactNode | ((mayActNow: boolean) => ReactNode);
}

/** Asks for confirmation of an action that cannot be undone, and for a proof of identity if the action requires one. */
export function ActionDialog<T>({ title, close, proof, onDone, preview, children, ...rest }: ActionDialogProps<T>) {
  return (
    <Dialog title={title} close={close}>
      <ProofForm
        {...rest}
        proof={proof}
        canRetry={proof === undefined}
        close={close}
        onDone={(result) => {
          // Closes the dialog before data is reloaded, because the service would refuse to preview an action that is done.
          flushSync(close);
          onDone?.(result);
        }}
      >
        {(mayActNow, isActing) => (
          <>
            <div className="dim">{typeof children === 'function' ? children(mayActNow) : children}</div>
            {preview !== undefined && <ActionPreview {...preview} isActing={isActing} />}
          </>
        )}
      </ProofForm>
    </Dialog>
  );
}

type ActionPreviewProps = NonNullable<ActionDialogProps<unknown>['preview']> & { isActing: boolean };

function ActionPreview({ draft, direction, isActing }: ActionPreviewProps) {
  const { preview, error, retry, readMore } = usePreview(draft, isActing);
  if (error !== null) return <Failure problem={error} retry={retry} />;
  if (preview === null) return <p role="status">Computing who {direction}</p>;
  return (
    <>
      {direction === 'loses' && <DraftGuarantees preview={preview} />}
      <DraftOutcomes preview={preview} direction={direction} />
      <MorePeople readMore={readMore} />
    </>
  );
}

/**
 * The proof of identity that an action requires. `new`: the password, or a sign-in at the provider, which returns to this address.
 * `recent`: like `new`, unless the last proof is recent enough. `password`: the password, which is passed to `run`.
 */
type RequiredProof = 'new' | 'recent' | 'password' | undefined;

interface ProofFormProps<T> extends Omit<FormProps, 'mutation' | 'cancelText' | 'children'> {
  proof: RequiredProof;
  /** The values that `run` sends. When they change, a shown failure disappears. */
  values?: unknown;
  /** The address parameters with which the provider returns to this page. Default: the present ones, which may lack the newest input of a form. */
  returnSearch?: URLSearchParams | undefined;
  run: (password: string) => Promise<T>;
  onDone: (result: T) => void;
  /**
   * @param mayActNow false: the person must first sign in at the provider. Fields are hidden until then, because their text would be lost
   * @param isActing whether the action is in progress
   */
  children: (mayActNow: boolean, isActing: boolean) => ReactNode;
}

/** The form of an action that needs a proof of identity. */
export function ProofForm<T>(props: ProofFormProps<T>) {
  const { proof, values, returnSearch: address, run, onDone, action, isDanger, children, ...formProps } = props;
  const [password, setPassword] = useState('');
  const { search } = useAddress();
  const account = useConsoleStart().data?.account;
  const isProofRecent = proof === 'recent' && account?.is_confirmed === true;
  const needsPassword = proof !== undefined && account?.has_password === true && !isProofRecent;
  const needsProvider = proof !== undefined && proof !== 'password' && account?.has_password === false;
  const mustGoToProvider = needsProvider && !account.is_confirmed;
  const mayProofBeOld = needsProvider || proof === 'recent';
  useEffect(() => {
    if (mayProofBeOld) void refreshConsoleStart(); // the last proof may be too old by now
  }, [mayProofBeOld]);
  const actionMutation = useMutation({
    mutationFn: async () => {
      if (needsPassword && proof !== 'password')
        await bodyOf(api.POST('/api/auth/console-session/confirm', { body: { password } }));
      return run(password);
    },
    onSuccess: (result) => {
      if (needsPassword) void refreshConsoleStart();
      onDone(result);
    },
    onError: (error) => {
      if (isProblem(error, 'reauthentication_required')) void refreshConsoleStart();
    },
  });
  useEffect(() => {
    if (actionMutation.isError) actionMutation.reset();
  }, [values]);
  const providerMutation = useMutation({ mutationFn: () => confirmAtProvider(returnAddress(address ?? search)) });
  return (
    <Form
      {...formProps}
      mutation={mustGoToProvider ? providerMutation : actionMutation}
      action={mustGoToProvider ? 'Confirm at the provider' : action}
      isDanger={isDanger === true && !mustGoToProvider}
    >
      {children(!mustGoToProvider, actionMutation.isPending)}
      {needsPassword && (
        <>
          <HiddenUsername username={account.username} />
          <PasswordField label="Your password, to confirm" value={password} set={setPassword} />
        </>
      )}
      {needsProvider && account.is_confirmed && <p role="status">You confirmed at the provider.</p>}
      {mustGoToProvider && (
        <>
          <p className="hint">You sign in at the provider once more, and come back to this question.</p>
          <ReturnFailure texts={NOT_CONFIRMED_TEXTS} />
        </>
      )}
    </Form>
  );
}

const NOT_CONFIRMED_TEXTS = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was confirmed.',
  other_person: 'Somebody else signed in at the provider. Sign in there as yourself.',
  not_signed_in_anew: 'The provider did not ask you to sign in anew. Nothing was confirmed.',
  other: 'The provider sent you back, and nothing was confirmed.',
};
