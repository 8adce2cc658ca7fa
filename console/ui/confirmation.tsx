import type { FormEvent, ReactNode } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { Dialog } from './dialog.tsx';
import { DialogButtons } from './dialog-buttons.tsx';
import { Refusal } from './problem.tsx';

interface ConfirmationProps {
  readonly title: string;
  /** Names what happens: "Disconnect 12 clients". */
  readonly action: string;
  readonly isBusy: boolean;
  /** False while the consequences are not known yet. */
  readonly isReady?: boolean;
  /** Whether the action deletes, disconnects or revokes something. Default: false. */
  readonly isDestructive?: boolean | undefined;
  readonly error: RefusedError | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What closing does. Default: "Cancel". */
  readonly closes?: string | undefined;
  /** What the action changes, and the clients that it affects. */
  readonly children: ReactNode;
}

/** Shows the consequences of an action, and runs it. */
export function Confirmation(props: ConfirmationProps) {
  const { title, action, isBusy, isReady = true, isDestructive, error, onConfirm, onClose, closes, children } = props;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onConfirm();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        <Refusal error={error} />
        <DialogButtons
          action={action}
          isBusy={isBusy}
          isReady={isReady}
          isDestructive={isDestructive}
          onClose={onClose}
          closes={closes}
        />
      </form>
    </Dialog>
  );
}
