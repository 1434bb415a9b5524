import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { endRestore, restore } from '../api/publishing.js';
import { ActDialog } from './act-dialog.js';
import { Failure } from './failure.js';
import { Icon } from './icon.js';
import { Moment } from './moment.js';
import { Notice } from './notice.js';
import { TextField } from './text-field.js';

const LONGEST_HOURS = 24;

/** Publishes an older version again, for some hours. */
export function Restore({ version }: { version: number }) {
  const [isAsked, setAsked] = useState(false);
  const [reason, setReason] = useState('');
  const [hours, setHours] = useState('4');
  const [isRefused, setRefused] = useState<string | null>(null);
  return (
    <>
      <button className="button" type="button" onClick={() => setAsked(true)}>
        <Icon name="undo" />
        Restore
      </button>
      {isAsked && (
        <ActDialog
          title={`Restore version ${version}?`}
          act="Restore"
          run={() => restore(version, reason.trim(), Number(hours))}
          done={({ outcome, reasons }) =>
            setRefused(outcome === 'refused' ? reasons.map(({ message }) => message).join(' ') : null)
          }
          close={() => setAsked(false)}
        >
          <div className="stack stack--tight">
            <p>
              Its rules are published at once, and stay for so long whatever is granted meanwhile. Revokes still count.
            </p>
            <TextField label="Reason" value={reason} set={setReason} maxLength={1000} required />
            <TextField label="Hours" type="number" min={1} max={LONGEST_HOURS} value={hours} set={setHours} required />
          </div>
        </ActDialog>
      )}
      {isRefused !== null && (
        <p className="note" role="alert">
          <Icon name="warn" />
          <span>Not restored: {isRefused}</span>
        </p>
      )}
    </>
  );
}

/** An older version is published instead of what is granted. */
export function RestoreInEffect({ until }: { until: string }) {
  const ending = useMutation({ mutationFn: endRestore });
  return (
    <Notice
      tone="warn"
      icon="undo"
      title={
        <>
          An older version is restored until <Moment at={until} />
        </>
      }
      actions={
        <button
          className="button"
          type="button"
          aria-disabled={ending.isPending}
          onClick={() => {
            if (!ending.isPending) ending.mutate();
          }}
        >
          End the restore
        </button>
      }
    >
      <p>What is granted meanwhile is published after that.</p>
      {ending.isError && <Failure problem={ending.error} />}
    </Notice>
  );
}
