import { useSearchParams } from 'wouter';
import { Problem } from '../api/client.js';
import { RETURN } from './asked.js';
import { Failure } from './failure.js';

/** Why nothing was confirmed; other codes have one sentence. */
const TEXTS: Record<string, string> = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was confirmed.',
  other_person: 'Somebody else signed in at the provider. Sign in there as yourself.',
  not_signed_in_anew: 'The provider did not ask you to sign in anew. Nothing was confirmed.',
};

/** What the dialog of an act says to people who have no password here. */
export function ProviderProof({ isConfirmed }: { isConfirmed: boolean }) {
  const [search] = useSearchParams();
  const code = search.get(RETURN.code);
  if (isConfirmed) return <p role="status">You confirmed at the provider.</p>;
  const text = TEXTS[code ?? ''] ?? 'The provider sent you back, and nothing was confirmed.';
  return (
    <>
      <p className="hint">You sign in at the provider once more, and come back to this question.</p>
      {code !== null && <Failure problem={new Problem(0, code, text, search.get(RETURN.requestId), null, [])} />}
    </>
  );
}
