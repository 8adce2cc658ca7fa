import { catalogue } from '../texts/texts.ts';
import { projectTexts } from './texts.ts';

export const memberTexts = catalogue(
  'project/member',
  {
    ownerIs: 'The project belongs to {owner}. Root administrators are administrators of every project.',
    noMembers: 'The project has no members.',
    newPerson: 'For a person without an account:',
    email: 'E-mail address',
    emailHint: 'Of an existing user',
    role: 'Role',
    VIEWERHint: 'Sees the project and its brokers.',
    EDITORHint: 'Also changes the settings of brokers, and reads payloads in topic trees.',
    ADMINHint: 'Also adds and removes brokers, members and tokens, and reads the audit.',
    roleOf: 'Role of {email}',
    since: 'Member since',
    addMember: 'Add member',
    added: '{email} now has the role {role}.',
    changeRole: 'Change role',
    changes: '{email} has the role {role} and gets the role {newRole}.',
    loses: '{email} has the role {role} and loses access to the project and all its brokers.',
    liveEnds: 'This takes effect immediately: what they have open and may no longer see ends.',
    tokensRemain: 'Tokens that they created remain valid: {count}. Revoke them under Tokens if necessary.',
    isRoot: 'As a root administrator they still have access to every project.',
    yourself: 'This is your own membership.',
    removeMember: 'Remove member',
    removeOf: 'Remove {email}',
    removed: '{email} is no longer a member.',
  },
  projectTexts,
);
