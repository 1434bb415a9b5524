import { useState } from 'react';
import { endRestore, restore } from '../api/publishing.js';
import { ActDialog } from './act-dialog.js';
import { useAsked } from './address.js';
import { Icon } from './icon.js';
import { Moment } from './moment.js';
import { Notice } from './notice.js';
import { TextField } from './text-field.js';

const LONGEST_HOURS = 24;

/** Publishes an older version again, for some hours. */
export function Restore({ version }: { version: number }) {
  const { asked, ask, close } = useAsked('ask');
  const [reason, setReason] = useState('');
  const [hours, setHours] = useState('4');
  const [isRefused, setRefused] = useState<string | null>(null);
  return (
    <>
      <button className="button" type="button" onClick={() => ask('restore')}>
        <Icon name="undo" />
        Restore
      </button>
      {asked === 'restore' && (
        <ActDialog
          title={`Restore version ${version}?`}
          act="Restore"
          asks="recent proof"
          run={() => restore(version, reason.trim(), Number(hours))}
          done={({ outcome, reasons }) =>
            setRefused(outcome === 'refused' ? reasons.map(({ message }) => message).join(' ') : null)
          }
          close={close}
        >
          {(isHere) => (
            <div className="stack stack--tight">
              <p>
                Its rules are published at once, and stay for so long whatever is granted meanwhile. Revokes still
                count.
              </p>
              {isHere && (
                <>
                  <TextField label="Reason" value={reason} set={setReason} maxLength={1000} required />
                  <TextField
                    label="Hours"
                    type="number"
                    min={1}
                    max={LONGEST_HOURS}
                    value={hours}
                    set={setHours}
                    required
                  />
                </>
              )}
            </div>
          )}
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
  const { asked, ask, close } = useAsked('ask');
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
        <button className="button" type="button" onClick={() => ask('end-restore')}>
          End the restore
        </button>
      }
    >
      <p>What is granted meanwhile is published after that.</p>
      {asked === 'end-restore' && (
        <ActDialog title="End the restore?" act="End the restore" asks="recent proof" run={endRestore} close={close}>
          <p>What is granted by now is published at once.</p>
        </ActDialog>
      )}
    </Notice>
  );
}
