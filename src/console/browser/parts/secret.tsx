import { CopyButton } from './copy-button.js';
import { Icon } from './icon.js';
import { Moment } from './moment.js';

interface SecretProps {
  /** What it is, as the head of the notice. */
  title: string;
  secret: string;
  expiresAt: string | null;
  /** What to do with it. */
  children: string;
  close: () => void;
}

/** A one-time password or a token: shown once, to be copied. */
export function Secret({ title, secret, expiresAt, children, close }: SecretProps) {
  return (
    <div className="notice notice--gain" role="status">
      <Icon name="check" />
      <div className="stack stack--tight">
        <div>
          <b>{title}</b>
          <p>
            {children} It is shown here and never again
            {expiresAt !== null && (
              <>
                , and can be used until <Moment at={expiresAt} />
              </>
            )}
            .
          </p>
        </div>
        <code className="code" tabIndex={0} role="group" aria-label={title}>
          {secret}
        </code>
      </div>
      <div className="row">
        <CopyButton value={secret} />
        <button className="button button--small button--quiet" type="button" onClick={close}>
          Done
        </button>
      </div>
    </div>
  );
}
