import type { FormEvent, ReactNode } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { Dialog } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Refusal } from '../ui/problem.tsx';

interface PersonFormProps {
  readonly title: string;
  readonly action: string;
  readonly isDestructive?: boolean;
  readonly isBusy: boolean;
  readonly error: RefusedError | null;
  readonly onSubmit: (fields: FormData) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that changes one thing of a person. */
export function PersonForm(props: PersonFormProps) {
  const { title, action, isDestructive, isBusy, error, onSubmit, onClose, children } = props;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void onSubmit(new FormData(event.currentTarget));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="fields" onSubmit={submit}>
        {children}
        <Refusal error={error} />
        <DialogButtons action={action} isBusy={isBusy} isDestructive={isDestructive} onClose={onClose} />
      </form>
    </Dialog>
  );
}
