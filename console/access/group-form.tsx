import { type FormEvent, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import type { Change } from './change.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { FormButtons, MeanwhileChanged, NameFields } from './form-parts.tsx';
import { type Held, HeldList } from './held-list.tsx';
import { accessTexts } from './texts.ts';
import { useInitial } from './use-initial.ts';

interface Editable {
  readonly groupName: string;
  readonly textName: string | null;
  readonly textDescription: string | null;
  readonly roles: readonly Held[];
}

interface GroupFormProps {
  /** `null`: a new one. */
  readonly group: Editable | null;
  readonly onClose: () => void;
}

const NEW: Editable = { groupName: '', textName: null, textDescription: null, roles: [] };

/** Creates or changes a group, without its members, of which there may be many. */
export function GroupForm({ group, onClose }: GroupFormProps) {
  const text = useTexts(accessTexts);
  const { initial, hasChanged } = useInitial(group ?? NEW);
  const [values, setValues] = useState(initial);
  const [changes, setChanges] = useState<readonly Change[] | null>(null);
  const set = (part: Partial<Editable>) => setValues((before) => ({ ...before, ...part }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const change = changeOf(initial, values);
    setChanges([group ? { updateAccessGroup: change } : { createAccessGroup: change }]);
  };
  const title = group ? text('editName', { name: group.groupName }) : text('newGroup');
  return (
    <>
      <Dialog title={title} onClose={onClose}>
        <form onSubmit={submit} className="fields access-fields">
          {hasChanged && <MeanwhileChanged />}
          {!group && (
            <Field label={text('groupName')}>
              <input
                value={values.groupName}
                required
                onInput={({ currentTarget: { value } }) => set({ groupName: value })}
              />
            </Field>
          )}
          <NameFields values={values} onChange={set} />
          <HeldList label={text('roles')} kind="roles" held={values.roles} onChange={(roles) => set({ roles })} />
          <FormButtons onClose={onClose} />
        </form>
      </Dialog>
      {changes && (
        <ChangeDialog
          title={title}
          action={text(group ? 'saveGroup' : 'createGroup')}
          changes={changes}
          onDone={onClose}
          onClose={() => setChanges(null)}
        />
      )}
    </>
  );
}

function changeOf(before: Editable, now: Editable) {
  const isChanged = (key: keyof Editable) => JSON.stringify(before[key]) !== JSON.stringify(now[key]);
  return {
    groupName: now.groupName,
    ...(isChanged('textName') && { textName: now.textName }),
    ...(isChanged('textDescription') && { textDescription: now.textDescription }),
    ...(isChanged('roles') && { roles: now.roles.map(({ name, priority }) => ({ roleName: name, priority })) }),
  };
}
