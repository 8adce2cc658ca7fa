import { type ComponentType, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { RowMenu } from '../ui/row-menu.tsx';
import { ChangePerson } from './change-person.tsx';
import { ChangeRole } from './change-role.tsx';
import { DeletePerson } from './delete-person.tsx';
import type { ManagedPerson, PersonActionProps } from './managed-person.ts';
import { ResetPassword } from './reset-password.tsx';
import { EndSessions, ResetSecondFactor, UnlockPerson } from './simple-actions.tsx';
import { peopleTexts } from './texts.ts';

interface PersonActionsProps {
  readonly person: ManagedPerson;
  readonly sessionCount: number;
  readonly onChanged: () => void;
}

/** What can be done with a person. What the service would refuse is not offered. */
export function PersonActions({ person, sessionCount, onChanged }: PersonActionsProps) {
  const text = useTexts(peopleTexts);
  const [Open, setOpen] = useState<ComponentType<PersonActionProps> | null>(null);
  const { isRootAdmin, isRemovable, ssoType, hasSecondFactor } = person;
  const button = (label: string, action: ComponentType<PersonActionProps>, isDestructive = false) => (
    <button type="button" className={isDestructive ? 'danger' : undefined} onClick={() => setOpen(() => action)}>
      {label}
    </button>
  );
  return (
    <>
      <div className="screen">
        {button(text('changePerson'), ChangePerson)}
        <RowMenu name={person.email}>
          {(!isRootAdmin || isRemovable) &&
            button(text(isRootAdmin ? 'revokeRoot' : 'grantRoot'), ChangeRole, isRootAdmin)}
          {ssoType === null && button(text('resetPassword'), ResetPassword)}
          {ssoType === null && button(text('unlock'), UnlockPerson)}
          {hasSecondFactor && button(text('resetSecondFactor'), ResetSecondFactor, true)}
          {sessionCount > 0 && button(text('endSessions'), EndSessions, true)}
          {isRemovable && button(text('deletePerson'), DeletePerson, true)}
        </RowMenu>
      </div>
      {isRemovable === false && <p className="quiet">{text('notRemovable')}</p>}
      {Open && <Open person={person} onChanged={onChanged} onClose={() => setOpen(null)} />}
    </>
  );
}
