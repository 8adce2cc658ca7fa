import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useAccess } from './access-context.ts';
import { changedFields } from './changed-fields.ts';
import { EditDialog } from './edit-dialog.tsx';
import { NameFields } from './form-parts.tsx';
import { RuleDifference } from './rule-difference.tsx';
import { type EditedRule, RuleEditor } from './rule-editor.tsx';
import type { Rule } from './rules.tsx';
import { accessTexts } from './texts.ts';

interface Editable {
  readonly roleName: string;
  readonly textName: string | null;
  readonly textDescription: string | null;
  /** `null`: the broker has no such flag. */
  readonly allowWildcardSubs: boolean | null;
  readonly acls: readonly Rule[];
}

interface RoleFormProps {
  /** `null`: a new one. */
  readonly edited: Editable | null;
  readonly onClose: () => void;
}

const NEW: Editable = { roleName: '', textName: null, textDescription: null, allowWildcardSubs: true, acls: [] };

/** Creates or changes a role with its rules. */
export function RoleForm({ edited: role, onClose }: RoleFormProps) {
  const text = useTexts(accessTexts);
  const { brokerId, knowsWildcardFlag } = useAccess();
  const { acls, ...others } = role ?? NEW;
  const edited: readonly EditedRule[] = acls.map((rule, key) => ({ ...rule, key }));
  const draft = useDraft(`role ${brokerId} ${others.roleName}`, { ...others, acls: edited });
  const { value: values, initial, change: set } = draft;
  const change = () => {
    const changed = changeOf(withoutKeys(initial), withoutKeys(values));
    return role ? { updateAccessRole: changed } : { createAccessRole: changed };
  };
  const title = role ? text('editName', { name: role.roleName }) : text('newRole');
  return (
    <EditDialog
      title={title}
      action={text(role ? 'saveRole' : 'createRole')}
      draft={draft}
      changeOf={change}
      difference={<RuleDifference before={initial.acls} after={values.acls} />}
      onClose={onClose}
    >
      {!role && (
        <Field label={text('roleName')}>
          <input
            value={values.roleName}
            required
            onInput={({ currentTarget: { value } }) => set({ roleName: value })}
          />
        </Field>
      )}
      <NameFields values={values} onChange={set} />
      {knowsWildcardFlag && (
        <label>
          <input
            type="checkbox"
            checked={values.allowWildcardSubs !== false}
            onChange={({ currentTarget: { checked } }) => set({ allowWildcardSubs: checked })}
          />{' '}
          {text('allowWildcards')}
        </label>
      )}
      <RuleEditor rules={values.acls} onChange={(rules) => set({ acls: rules })} />
    </EditDialog>
  );
}

const withoutKeys = ({
  acls,
  ...others
}: Omit<Editable, 'acls'> & { readonly acls: readonly EditedRule[] }): Editable => ({
  ...others,
  acls: acls.map(({ key: _key, ...rule }) => rule),
});

function changeOf(before: Editable, now: Editable) {
  const isChanged = changedFields<Editable>(before, now);
  return {
    roleName: now.roleName,
    ...(isChanged('textName') && { textName: now.textName }),
    ...(isChanged('textDescription') && { textDescription: now.textDescription }),
    ...(isChanged('allowWildcardSubs') && { allowWildcardSubs: now.allowWildcardSubs }),
    ...(isChanged('acls') && { acls: [...now.acls] }),
  };
}
