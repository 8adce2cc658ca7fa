import { type ReactNode, useEffect, useState } from 'react';
import { ask } from '../graph/ask.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { useAccess } from './access-context.ts';
import { BlastRadius } from './blast-radius.tsx';
import { type Blast, CHANGE, type Change, type Outcome, type Report } from './change.ts';
import { Changes } from './changes.tsx';
import { accessTexts } from './texts.ts';
import { useExecution } from './use-execution.ts';

interface ChangeDialogProps {
  readonly title: string;
  /** Names what happens: "Delete the role". */
  readonly action: string;
  readonly changes: readonly Change[];
  /** Whether it deletes or revokes something. Default: false. */
  readonly isDestructive?: boolean | undefined;
  /** Called after the broker has executed all changes. */
  readonly onDone: () => void;
  readonly onClose: () => void;
  /** What closing does. Default: "Cancel". */
  readonly closes?: string;
  /** What else is to be seen before. */
  readonly children?: ReactNode;
}

interface Known {
  readonly outcome: Outcome;
  readonly changes: readonly Report[];
  readonly blastRadius: Blast;
}

/** Shows the commands of a change and the clients that it disconnects, by a dry run, and then executes it. */
export function ChangeDialog(props: ChangeDialogProps) {
  const { title, action, changes, isDestructive, onDone, onClose, closes, children } = props;
  const text = useTexts(accessTexts);
  const { brokerId, revision } = useAccess();
  const [planned, setPlanned] = useState<Known | null>(null);
  const [refusal, setRefusal] = useState<RefusedError | null>(null);
  const { failed, executed } = useExecution<Known>(onDone);
  const { run, isBusy, error } = useMutation(CHANGE);
  const input = { brokerId, changes: [...changes] };
  const key = JSON.stringify(changes);
  // Another change meanwhile may have changed what this one does.
  useEffect(() => {
    let isWanted = true;
    const plan = async () => {
      const { data, error: refused } = await ask(CHANGE, { input: { ...input, dryRun: true } });
      if (!isWanted) return;
      setPlanned(data?.changeAccessControl ?? null);
      setRefusal(refused);
    };
    void plan();
    return () => {
      isWanted = false;
    };
  }, [key, revision]);
  const confirm = async () => executed((await run({ input }))?.changeAccessControl);
  const shown = failed ?? planned;
  return (
    <Confirmation
      title={title}
      action={action}
      isBusy={isBusy}
      isReady={planned?.outcome === 'PLANNED' && failed === null}
      isDestructive={isDestructive}
      error={error ?? refusal}
      onConfirm={() => void confirm()}
      onClose={onClose}
      closes={closes}
    >
      {shown === null && refusal === null && <p aria-busy="true">{text('planning')}</p>}
      {shown && (
        <>
          {failed && <p role="alert">{text(failed.outcome)}</p>}
          {children}
          <Changes changes={shown.changes} />
          <BlastRadius blast={shown.blastRadius} />
          <CopyAs document={CHANGE} variables={{ input: withoutSecrets({ ...input, dryRun: true }) }} />
        </>
      )}
    </Confirmation>
  );
}

/** Passwords do not belong into the clipboard. */
const withoutSecrets = (value: object): object =>
  JSON.parse(JSON.stringify(value, (key, part) => (key === 'password' ? '…' : part)));
