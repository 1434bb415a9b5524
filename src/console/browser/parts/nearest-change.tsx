import { Link } from 'wouter';
import type { Schemas } from '../api/client.js';
import { addressOfGrant, grantAddress } from '../domain/grant-form.js';
import { pathText } from '../domain/node-path.js';
import { principalParameter } from '../domain/principal.js';
import { Privileges } from './access.js';
import { CopyButton } from './copy-button.js';
import { Path } from './path.js';
import { addressOf, Principal } from './principal.js';
import { Region } from './page.js';

type Step = Schemas['ChangeStepResponse'];

interface NearestChangeProps {
  change: Schemas['SmallestChangeResponse'] | null;
  isOwn: boolean;
}

/** The smallest change that turns the answer round, as an order. */
export function NearestChange({ change, isOwn }: NearestChangeProps) {
  return (
    <Region title="Nearest change">
      <div className="panel stack stack--tight">
        {change === null ? (
          <p>No grant and no policy turns this round.</p>
        ) : (
          change.steps.map((step) => (
            <div key={JSON.stringify(step)} className="stack stack--tight">
              <p>
                <StepText step={step} isOwn={isOwn} />
              </p>
              {!isOwn && <StepLink step={step} />}
            </div>
          ))
        )}
        {change !== null && isOwn && (
          <div className="row">
            <CopyButton value={requestText(change.steps)} text="Copy a request" />
          </div>
        )}
      </div>
    </Region>
  );
}

function StepText({ step, isOwn }: { step: Step; isOwn: boolean }) {
  const { kind, principal, resource = {}, privileges = [] } = step;
  const who = isOwn || principal === undefined ? 'you' : <Principal of={principal} />;
  const where = <Path node={resource} />;
  switch (kind) {
    case 'grant':
      return (
        <>
          Grant <Privileges names={privileges} /> on {where} to {who}.{isOwn && ' An administrator can make it.'}
        </>
      );
    case 'revoke':
      return <>Revoke grant {step.grant_id}.</>;
    case 'except':
      return (
        <>
          Except {who} from policy {step.policy_id}.
        </>
      );
    case 'deny':
      return (
        <>
          Deny <Privileges names={privileges} /> on {where} for {who}.
        </>
      );
    case 'hidden_column':
      return (
        <>
          Hide column <code>{'column' in resource ? resource.column : ''}</code> of {where} from {who}.
        </>
      );
    case 'activate':
      return <>Activate the account of {who}.</>;
  }
}

/** Where the step can be looked at and made. */
function StepLink({
  step: { kind, principal, resource = {}, privileges = [], policy_id: policy, grant_id: grant },
}: {
  step: Step;
}) {
  if (kind === 'grant' && principal !== undefined)
    return <StepButton href={addressOfGrant(principal, privileges, resource)} text="Preview this change" />;
  if (kind === 'activate' && principal !== undefined)
    return <StepButton href={addressOf(principal) ?? '/people'} text="Open the account" />;
  if (kind === 'except') return <StepButton href={`/policies/${policy}`} text={`Open policy ${policy}`} />;
  if (kind === 'revoke' && grant !== undefined)
    return <StepButton href={grantAddress(grant)} text={`Open grant ${grant}`} />;
  return principal === undefined ? null : (
    <StepButton href={`/policies?principal=${principalParameter(principal)}`} text="Open policies" />
  );
}

function StepButton({ href, text }: { href: string; text: string }) {
  return (
    <div className="row">
      <Link className="button" href={href}>
        {text}
      </Link>
    </div>
  );
}

/** What somebody without the right to change anything can send to an administrator. */
function requestText(steps: readonly Step[]): string {
  const texts = steps.map(
    ({ kind, privileges = [], resource = {} }) => `${kind} ${privileges.join(', ')} on ${pathText(resource)}`,
  );
  return `Please: ${texts.join('; ')}`;
}
