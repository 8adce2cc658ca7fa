import { type FormEvent, type ReactNode, useState } from 'react';
import type { Draft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Restored } from '../ui/restored.tsx';
import type { Change } from './change.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { FormButtons, MeanwhileChanged } from './form-parts.tsx';
import { accessTexts } from './texts.ts';

interface EditDialogProps {
  readonly title: string;
  /** What the confirmation does: "Save the role". */
  readonly action: string;
  readonly draft: Omit<Draft<unknown>, 'change'>;
  /** The change of the submitted values. */
  readonly changeOf: () => Change;
  /** What the confirmation shows besides the commands. */
  readonly difference?: ReactNode;
  readonly onClose: () => void;
  /** The fields. */
  readonly children: ReactNode;
}

/** A form of an account, a group or a role. Its change is confirmed after a dry run, in the place of the form. */
export function EditDialog(props: EditDialogProps) {
  const { title, action, draft, changeOf, difference, onClose, children } = props;
  const text = useTexts(accessTexts);
  const [changes, setChanges] = useState<readonly Change[] | null>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChanges([changeOf()]);
  };
  if (changes) {
    return (
      <ChangeDialog
        title={title}
        action={action}
        changes={changes}
        onDone={() => {
          draft.discard();
          onClose();
        }}
        onClose={() => setChanges(null)}
        closes={text('backToForm')}
      >
        {difference}
      </ChangeDialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit} className="fields access-fields">
        <Restored draft={draft} />
        {draft.hasChanged && <MeanwhileChanged />}
        {children}
        <FormButtons onClose={onClose} />
      </form>
    </Dialog>
  );
}
