import { useSearchParams } from 'wouter';
import { Problem } from '../api/client.js';
import { RETURN } from './asked.js';
import { Failure } from './failure.js';

/** Why nothing was confirmed. */
const TEXTS = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was confirmed.',
  other_person: 'Somebody else signed in at the provider. Sign in there as yourself.',
  not_signed_in_anew: 'The provider did not ask you to sign in anew. Nothing was confirmed.',
  other: 'The provider sent you back, and nothing was confirmed.',
};

/** What the dialog of an act says to people who have no password here. */
export function ProviderProof({ isConfirmed }: { isConfirmed: boolean }) {
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
