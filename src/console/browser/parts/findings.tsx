import { useId } from 'react';
import type { Schemas } from '../api/client.js';
import { Icon } from './icon.js';

type Finding = Schemas['FindingResponse'];

/** What a check found: in words, where in the rules, and the text of the rule. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul className="stack stack--tight">
      {findings.map((finding) => (
        <li key={JSON.stringify(finding)} className="stack stack--tight">
          <p className="note">
            <Icon name={finding.severity === 'info' ? 'info' : 'warn'} />
            <span>
              {finding.message}{' '}
              <small className="mono">{[finding.code, finding.rule].filter(Boolean).join(' · ')}</small>
            </span>
          </p>
          {finding.witness !== undefined && <code className="code">{finding.witness}</code>}
        </li>
      ))}
    </ul>
  );
}

/** Why a run was refused: an example of what somebody could do and should not, or the reverse. */
export function Counterexample({ reasons, hint }: { reasons: readonly Finding[]; hint: string }) {
  const id = useId();
  return (
    <section className="notice notice--loss" aria-labelledby={id}>
      <Icon name="stop" />
      <div className="stack stack--tight">
        <div>
          <h2 id={id}>Counterexample</h2>
          <p>{hint}</p>
        </div>
        <Findings findings={reasons} />
      </div>
    </section>
  );
}
