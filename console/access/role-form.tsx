import { useState } from 'react';
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
import { useInitial } from './use-initial.ts';

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
  const { knowsWildcardFlag } = useAccess();
  const { initial, hasChanged } = useInitial(role ?? NEW);
  const [values, setValues] = useState(initial);
  const [rules, setRules] = useState<readonly EditedRule[]>(initial.acls.map((rule, key) => ({ ...rule, key })));
  const set = (part: Partial<Editable>) => setValues((before) => ({ ...before, ...part }));
  const change = () => {
    const changed = changeOf(initial, { ...values, acls: rules.map(({ key: _key, ...rule }) => rule) });
    return role ? { updateAccessRole: changed } : { createAccessRole: changed };
  };
  const title = role ? text('editName', { name: role.roleName }) : text('newRole');
  return (
    <EditDialog
      title={title}
      action={text(role ? 'saveRole' : 'createRole')}
      hasChanged={hasChanged}
      changeOf={change}
      difference={<RuleDifference before={initial.acls} after={rules} />}
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
      <RuleEditor rules={rules} onChange={setRules} />
    </EditDialog>
  );
}

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
