import type { FormEvent, ReactNode } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { Dialog } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Refusal } from '../ui/problem.tsx';

interface PersonFormProps {
  readonly title: string;
  readonly action: string;
  readonly isBusy: boolean;
  readonly error: RefusedError | null;
  readonly onSubmit: (fields: FormData) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog that changes one thing of a person. */
export function PersonForm({ title, action, isBusy, error, onSubmit, onClose, children }: PersonFormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void onSubmit(new FormData(event.currentTarget));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="fields" onSubmit={submit}>
        {children}
        <Refusal error={error} />
        <DialogButtons action={action} isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
