import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { SET_MEMBER } from './add-member.tsx';
import { memberTexts } from './member-texts.ts';
import { ROLES, type Role } from './role-select.tsx';
import { ViewerNote } from './viewer-note.tsx';

const REMOVE = graphql(`mutation RemoveMember($input: RemoveProjectMemberInput!) {
  removeProjectMember(input: $input) { __typename }
}`);

export interface MemberChange {
  readonly email: string;
  readonly isRootAdmin: boolean;
  readonly role: Role;
  /** `null`: the member is removed. */
  readonly newRole: Role | null;
  /** Number of tokens that the member has created. */
  readonly tokens: number;
}

interface ChangeMemberProps {
  readonly projectId: string;
  readonly change: MemberChange;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Changes the role of a member or removes them, after what they lose was shown. */
export function ChangeMember({ projectId, change, onDone, onClose }: ChangeMemberProps) {
  const text = useTexts(memberTexts);
  const notify = useNotices();
  const viewer = useViewer();
  const set = useMutation(SET_MEMBER);
  const remove = useMutation(REMOVE);
  const { email, role, newRole, tokens, isRootAdmin } = change;
  const isWeaker = newRole === null || ROLES.indexOf(newRole) < ROLES.indexOf(role);
  const confirm = async () => {
    const input = { projectId, email };
    const done = newRole === null ? await remove.run({ input }) : await set.run({ input: { ...input, role: newRole } });
    if (done === null) return;
    notify(newRole === null ? text('removed', { email }) : text('added', { email, role: text(newRole) }));
    onDone();
  };
  return (
    <Confirmation
      title={text(newRole === null ? 'removeOf' : 'roleOf', { email })}
      action={text(newRole === null ? 'removeMember' : 'changeRole')}
      isDestructive={newRole === null}
      isBusy={set.isBusy || remove.isBusy}
      error={set.error ?? remove.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        {newRole === null
          ? text('loses', { email, role: text(role) })
          : text('changes', { email, role: text(role), newRole: text(newRole) })}
      </p>
      {newRole !== null && <p>{text(`${newRole}Hint`)}</p>}
      <ViewerNote role={newRole} />
      {isWeaker && <p>{text('liveEnds')}</p>}
      {isWeaker && tokens > 0 && <p>{text('tokensRemain', { count: tokens })}</p>}
      {isRootAdmin && <p>{text('isRoot')}</p>}
      {isWeaker && email === viewer.email && <p role="alert">{text('yourself')}</p>}
    </Confirmation>
  );
}
