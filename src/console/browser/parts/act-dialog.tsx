import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { api, bodyOf, isProblem } from '../api/client.js';
import { confirmAtProvider, refreshStart, useStart } from '../api/session.js';
import { returnAddress } from './asked.js';
import { HiddenUsername, PasswordField } from './password-field.js';
import { Dialog } from './dialog.js';
import { Form } from './form.js';
import { ProviderProof } from './provider-proof.js';

interface ActDialogProps<T> {
  /** *Approve this change?* */
  title: string;
  /** The button: verb and object. */
  act: string;
  isDanger?: boolean | undefined;
  /**
   * What the act needs besides a yes: a proof of who acts, which is the password or a sign-in at the provider, from which one
   * comes back to this address; or the password itself, for `run`.
   */
  asks?: 'proof' | 'password' | undefined;
  run: (password: string) => Promise<T>;
  close: () => void;
  done?: (result: T) => void;
  /** What follows from it, in numbers. */
  children: ReactNode;
}

/** Asks before what cannot be undone, and for a proof of who acts where the act needs one. */
export function ActDialog<T>(props: ActDialogProps<T>) {
  const { title, act, isDanger = false, asks, run, close, done, children } = props;
  const [password, setPassword] = useState('');
  const [search] = useSearchParams();
  const account = useStart().data?.account;
  const withPassword = asks !== undefined && account?.has_password === true;
  const withProvider = asks === 'proof' && account?.has_password === false;
  const mustLeave = withProvider && !account.is_confirmed;
  useEffect(() => {
    if (withProvider) void refreshStart(); // a proof of some minutes ago may count no more
  }, [withProvider]);
  const acting = useMutation({
    mutationFn: async () => {
      if (withPassword && asks === 'proof')
        await bodyOf(api.POST('/api/auth/console-session/confirm', { body: { password } }));
      return run(password);
    },
    onSuccess: (result) => {
      close();
      done?.(result);
    },
    onError: (error) => {
      if (isProblem(error, 'reauthentication_required')) void refreshStart();
    },
  });
  const leaving = useMutation({ mutationFn: () => confirmAtProvider(returnAddress(search)) });
  return (
    <Dialog title={title} close={close}>
      <Form
        doing={mustLeave ? leaving : acting}
        act={mustLeave ? 'Confirm at the provider' : act}
        isDanger={isDanger && !mustLeave}
        close={close}
      >
        <div className="dim">{children}</div>
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
    </Dialog>
  );
}
