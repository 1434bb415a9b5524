import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, bodyOf } from '../api/client.js';
import { useStart } from '../api/session.js';
import { HiddenUsername, PasswordField } from './password-field.js';
import { Dialog } from './dialog.js';
import { Failure } from './failure.js';

interface ActDialogProps<T> {
  /** *Approve this change?* */
  title: string;
  /** The button: verb and object. */
  act: string;
  isDanger?: boolean;
  /** What may only follow the password, given again. */
  withPassword?: boolean;
  run: () => Promise<T>;
  close: () => void;
  done?: (result: T) => void;
  /** What follows from it, in numbers. */
  children: ReactNode;
}

/** Asks before what cannot be undone, and for the password where the act needs it again. */
export function ActDialog<T>(props: ActDialogProps<T>) {
  const { title, act, isDanger = false, withPassword = false, run, close, done, children } = props;
  const [password, setPassword] = useState('');
  const username = useStart().data?.account?.username;
  const acting = useMutation({
    mutationFn: async () => {
      if (withPassword) await bodyOf(api.POST('/api/auth/console-session/confirm', { body: { password } }));
      return run();
    },
    onSuccess: (result) => {
      close();
      done?.(result);
    },
  });
  return (
    <Dialog title={title} close={close}>
      <form
        className="stack stack--tight"
        method="post"
        onSubmit={(event) => {
          event.preventDefault();
          if (!acting.isPending) acting.mutate();
        }}
      >
        <div className="dim">{children}</div>
        {withPassword && (
          <>
            <HiddenUsername username={username} />
            <PasswordField
              id="confirm-password"
              label="Password"
              complete="current-password"
              value={password}
              set={setPassword}
            />
          </>
        )}
        {acting.isError && <Failure problem={acting.error} />}
        <div className="actions">
          <button className="button button--quiet" type="button" onClick={close}>
            Cancel
          </button>
          <button
            className={`button button--primary${isDanger ? ' button--danger' : ''}`}
            type="submit"
            aria-disabled={acting.isPending}
          >
            {act}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
