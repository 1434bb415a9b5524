import { Link } from 'wouter';
import type { Preview } from '../api/drafts.js';
import { useGuarantee } from '../api/guarantees.js';
import { formOfGuarantee, isBlocking, guaranteeSentence } from '../domain/guarantee-form.js';
import { Note, Notice } from './notice.js';
import { Sentence } from './sentence.js';

/** A guarantee that a draft would break or repair. */
export function DraftGuarantee({ id, name, state, witnesses: [witness] }: Preview['guarantees'][number]) {
  const guarantee = useGuarantee(id).data?.body;
  const link = <Link href={`/guarantees/${id}`}>{name}</Link>;
  if (state === 'holds') return <Note icon="check">It mends the guarantee {link}.</Note>;
  const isRefused = guarantee !== undefined && isBlocking(guarantee);
  return (
    <Notice
      tone={isRefused ? 'loss' : 'warn'}
      title={
        <>
          {isRefused ? 'Refused by the guarantee' : 'It breaks the guarantee'} {link}
        </>
      }
    >
      <p>
        {guarantee !== undefined && (
          <>
            <Sentence parts={guaranteeSentence(formOfGuarantee(guarantee))} />.{' '}
          </>
        )}
        {witness !== undefined && `Broken: ${witness.message.replace(/ by \w+ (\d+, )*-[^;]*/g, ', by this draft')}.`}
      </p>
    </Notice>
  );
}
