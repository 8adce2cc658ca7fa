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
  readonly username: string;
  readonly clientId: string | null;
  readonly enabled: boolean;
  readonly textName: string | null;
  readonly textDescription: string | null;
  readonly groups: readonly Held[];
  readonly roles: readonly Held[];
}

interface AccountFormProps {
  /** `null`: a new one. */
  readonly account: Editable | null;
  readonly onClose: () => void;
}

const NEW: Editable = {
  username: '',
  clientId: null,
  enabled: true,
  textName: null,
  textDescription: null,
  groups: [],
  roles: [],
};

/** Creates or changes an account. Of an existing one only changed values are sent. */
export function AccountForm({ account, onClose }: AccountFormProps) {
  const text = useTexts(accessTexts);
  const { brokerId } = useAccess();
  const draft = useDraft<Values>(
    `account ${brokerId} ${account?.username ?? ''}`,
    { ...(account ?? NEW), password: '' },
    (typed) => ({ ...typed, password: '' }),
  );
  const { value: values, initial, change: set } = draft;
  const change = () => {
    const changed = changeOf(initial, {
      ...values,
      groups: withTyped(values.groups),
      roles: withTyped(values.roles),
    });
    return account ? { updateAccount: changed } : { createAccount: changed };
  };
  const title = account ? text('editName', { name: account.username }) : text('newAccount');
  return (
    <EditDialog
      title={title}
      action={text(account ? 'saveAccount' : 'createAccount')}
      draft={draft}
      changeOf={change}
      onClose={onClose}
    >
      {!account && (
        <Field label={text('username')}>
          <input
            value={values.username}
            autoComplete="off"
            required
            onInput={({ currentTarget: { value } }) => set({ username: value })}
          />
        </Field>
      )}
      <Field label={text('password')} hint={text(account ? 'passwordStays' : 'passwordMissing')}>
        <input
          type="password"
          autoComplete="new-password"
          value={values.password}
          onInput={({ currentTarget: { value } }) => set({ password: value })}
        />
      </Field>
      <Field label={text('onlyClientId')} hint={text('anyClientId')}>
        <input
          value={values.clientId ?? ''}
          onInput={({ currentTarget: { value } }) => set({ clientId: value === '' ? null : value })}
        />
      </Field>
      <label>
        <input
          type="checkbox"
          checked={values.enabled}
          onChange={({ currentTarget: { checked } }) => set({ enabled: checked })}
        />{' '}
        {text('mayConnect')}
      </label>
      <NameFields values={values} onChange={set} />
      <HeldList label={text('groups')} kind="groups" held={values.groups} onChange={(groups) => set({ groups })} />
      <HeldList label={text('roles')} kind="roles" held={values.roles} onChange={(roles) => set({ roles })} />
    </EditDialog>
  );
}

type Values = Editable & { readonly password: string };

function changeOf(before: Editable, now: Values) {
  const isChanged = changedFields<Editable>(before, now);
  return {
    username: now.username,
    ...(now.password !== '' && { password: now.password }),
    ...(isChanged('clientId') && { clientId: now.clientId }),
    ...(isChanged('enabled') && { enabled: now.enabled }),
    ...(isChanged('textName') && { textName: now.textName }),
    ...(isChanged('textDescription') && { textDescription: now.textDescription }),
    ...(isChanged('groups') && {
      groups: now.groups.map(({ name, priority }) => ({ groupName: name, priority })),
    }),
    ...(isChanged('roles') && { roles: now.roles.map(({ name, priority }) => ({ roleName: name, priority })) }),
  };
}
