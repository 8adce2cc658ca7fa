import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useAccess } from './access-context.ts';
import { changedFields } from './changed-fields.ts';
import { EditDialog } from './edit-dialog.tsx';
import { NameFields } from './form-parts.tsx';
import { type Held, HeldList, withTyped } from './held-list.tsx';
import { accessTexts } from './texts.ts';

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
  const { brokerId } = useAccess();
  const draft = useDraft(`group ${brokerId} ${group?.groupName ?? ''}`, group ?? NEW);
  const { value: values, initial, change: set } = draft;
  const change = () => {
    const changed = changeOf(initial, { ...values, roles: withTyped(values.roles) });
    return group ? { updateAccessGroup: changed } : { createAccessGroup: changed };
  };
  const title = group ? text('editName', { name: group.groupName }) : text('newGroup');
  return (
    <EditDialog
      title={title}
      action={text(group ? 'saveGroup' : 'createGroup')}
      draft={draft}
      changeOf={change}
      onClose={onClose}
    >
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
    </EditDialog>
  );
}

function changeOf(before: Editable, now: Editable) {
  const isChanged = changedFields<Editable>(before, now);
  return {
    groupName: now.groupName,
    ...(isChanged('textName') && { textName: now.textName }),
    ...(isChanged('textDescription') && { textDescription: now.textDescription }),
    ...(isChanged('roles') && { roles: now.roles.map(({ name, priority }) => ({ roleName: name, priority })) }),
  };
}
