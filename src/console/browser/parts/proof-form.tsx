import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { isProblem } from '../api/client.js';
import { confirmAtProvider, confirmByPassword, noteConfirmed, refreshStart, useStart } from '../api/session.js';
import { returnAddress } from './asked.js';
import { Form, type FormProps } from './form.js';
import { HiddenUsername, PasswordField } from './password-field.js';
import { ProviderProof } from './provider-proof.js';

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
