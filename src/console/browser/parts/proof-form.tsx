import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { isProblem, Problem } from '../api/client.js';
import { confirmAtProvider, confirmByPassword, noteConfirmed, refreshStart, useStart } from '../api/session.js';
import { RETURN, returnAddress } from './address.js';
import { Form, type FormProps } from './form.js';
import { HiddenUsername, PasswordField } from './password-field.js';
import { Failure } from './failure.js';

/**
 * What an act needs besides a yes. A proof of who acts: the password each time, or a sign-in at the provider, from which one comes back
 * to this address; a recent proof: the same, but where the last one counts no more; or the password itself, for `run`.
 */
export type Asks = 'proof' | 'recent proof' | 'password' | undefined;

interface ProofFormProps<T> extends Omit<FormProps, 'doing' | 'away' | 'children'> {
  asks: Asks;
  run: (password: string) => Promise<T>;
  done: (result: T) => void;
  /** By whether it can be done without leaving for the provider: what is typed would be lost on the way. */
  children: (isHere: boolean) => ReactNode;
}

/** The form of an act that needs a proof of who acts. */
export function ProofForm<T>({ asks, run, done, act, isDanger = false, children, ...ofForm }: ProofFormProps<T>) {
  const [password, setPassword] = useState('');
  const [search] = useSearchParams();
  const account = useStart().data?.account;
  const isRecent = asks === 'recent proof' && account?.is_confirmed === true;
  const withPassword = asks !== undefined && account?.has_password === true && !isRecent;
  const withProvider = asks !== undefined && asks !== 'password' && account?.has_password === false;
  const mustLeave = withProvider && !account.is_confirmed;
  const isOld = withProvider || asks === 'recent proof';
  useEffect(() => {
    if (isOld) void refreshStart(); // a proof of some minutes ago may count no more
  }, [isOld]);
  const acting = useMutation({
    mutationFn: async () => {
      if (withPassword && asks !== 'password') await confirmByPassword(password);
      return run(password);
    },
    onSuccess: (result) => {
      if (withPassword) noteConfirmed();
      done(result);
    },
    onError: (error) => {
      if (isProblem(error, 'reauthentication_required')) void refreshStart();
    },
  });
  const leaving = useMutation({ mutationFn: () => confirmAtProvider(returnAddress(search)) });
  return (
    <Form
      {...ofForm}
      doing={mustLeave ? leaving : acting}
      act={mustLeave ? 'Confirm at the provider' : act}
      isDanger={isDanger && !mustLeave}
    >
      {children(!mustLeave)}
      {withPassword && (
        <>
          <HiddenUsername username={account.username} />
          <PasswordField
            id="confirm-password"
            label="Password"
            complete="current-password"
            value={password}
            set={setPassword}
          />
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

/** What the dialog of an act says to people who have no password here. */
function ProviderProof({ isConfirmed }: { isConfirmed: boolean }) {
  if (isConfirmed) return <p role="status">You confirmed at the provider.</p>;
  return (
    <>
      <p className="hint">You sign in at the provider once more, and come back to this question.</p>
      <ReturnFailure texts={TEXTS} />
    </>
  );
}

/** Why somebody came back from the provider without what they left for. @param props.texts by code; `other` of all without one */
export function ReturnFailure({ texts }: { texts: Readonly<Record<string, string>> & { other: string } }) {
  const [search] = useSearchParams();
  const code = search.get(RETURN.code);
  if (code === null) return null;
  return <Failure problem={new Problem(0, code, texts[code] ?? texts.other, search.get(RETURN.requestId), null, [])} />;
}
