import { type FormEvent, useState } from 'react';
import { addressOf } from '../graph/addresses.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Field } from '../ui/field.tsx';
import { Refusal } from '../ui/problem.tsx';
import { SET_MEMBER } from './add-member.tsx';
import { inviteTexts } from './invite-texts.ts';
import { memberTexts } from './member-texts.ts';
import { type Role, RoleSelect } from './role-select.tsx';
import { ViewerNote } from './viewer-note.tsx';

const INVITE = graphql(`mutation InviteUser($input: InviteUserInput!) {
  inviteUser(input: $input) { secret expiresAt user { email } }
}`);

const PROJECTS = graphql(
  `query ProjectsToJoin { projects(first: 200) { nodes { id name settings { hasStrictRoles } } } }`,
);

type Invited = ResultOf<typeof INVITE>['inviteUser'];

interface InvitePersonProps {
  /** Default: chosen in the form. */
  readonly projectId?: string;
  readonly onInvited: () => void;
  readonly onClose: () => void;
}

/** Creates an account with a role, and a link by which the person sets the password. */
export function InvitePerson({ projectId: fixed, onInvited, onClose }: InvitePersonProps) {
  const text = useTexts(inviteTexts);
  const memberText = useTexts(memberTexts);
  const timeOf = useTimes();
  // The search leads here with an address.
  const { values } = useAddressValues();
  const { data } = useQuery(PROJECTS, {});
  const invite = useMutation(INVITE);
  const join = useMutation(SET_MEMBER);
  const [projectId, setProjectId] = useState(fixed ?? '');
  const [role, setRole] = useState<Role>('VIEWER');
  const [invited, setInvited] = useState<Invited | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const name = String(fields.get('name')).trim();
    const isSecondFactorRequired = fields.has('isSecondFactorRequired');
    const email = String(fields.get('email'));
    const done = await invite.run({ input: { email, isSecondFactorRequired, ...(name !== '' && { name }) } });
    if (done === null) return;
    if (projectId !== '') await join.run({ input: { projectId, email, role } });
    setInvited(done.inviteUser);
    onInvited();
  };
  if (invited) {
    const { secret, expiresAt, user } = invited;
    return (
      <Dialog title={text('invitationOf', { email: user.email })} onClose={onClose}>
        <p>{text('sendLink', { time: timeOf(expiresAt) })}</p>
        <CommandToCopy command={addressOf(`#/invitation/${secret}`)} />
        <Refusal error={join.error} />
        <p className="buttons">
          <button type="button" onClick={onClose}>
            {text('done')}
          </button>
        </p>
      </Dialog>
    );
  }
  return (
    <Dialog title={text('invite')} onClose={onClose}>
      <form className="fields" onSubmit={(event) => void submit(event)}>
        <Field label={text('email')}>
          <input
            name="email"
            type="email"
            autoComplete="off"
            required={true}
            defaultValue={values.get('email') ?? ''}
          />
        </Field>
        <Field label={text('name')} hint={text('nameDefault')}>
          <input name="name" autoComplete="off" maxLength={200} />
        </Field>
        {fixed === undefined && (
          <Field label={text('project')}>
            <select value={projectId} onChange={({ currentTarget: { value } }) => setProjectId(value)}>
              <option value="">{text('noProjectYet')}</option>
              {data?.projects.nodes.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
        )}
        {projectId !== '' && (
          <Field label={text('role')} hint={memberText(`${role}Hint`)}>
            <RoleSelect value={role} onChange={setRole} />
          </Field>
        )}
        <ViewerNote role={role} project={data?.projects.nodes.find(({ id }) => id === projectId)} />
        <label className="choice">
          <input name="isSecondFactorRequired" type="checkbox" />
          <span>
            {text('requireSecondFactor')} <small>{text('requireSecondFactorMeans')}</small>
          </span>
        </label>
        <Refusal error={invite.error} />
        <DialogButtons action={text('createLink')} isBusy={invite.isBusy || join.isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
