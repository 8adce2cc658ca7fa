import { catalogue } from '../texts/texts.ts';

export const organizationTexts = catalogue('organizations', {
  noOrganizations: 'You are a member of no organization.',
  organizationsMean:
    'An organization owns projects. Its owners are administrators of these projects, its members viewers.',
  create: 'Create an organization',
  createdAt: 'Created',
  membersOf: 'Members of {name}',
  email: 'E-mail address',
  role: 'Role',
  OWNER: 'owner',
  MEMBER: 'member',
  since: 'Since',
  setMember: 'Add or change member',
  removeMember: 'Remove {email}',
  removeMemberMeans: 'The person loses the access that the organization gives to its projects.',
  deleteOf: 'Delete {name}',
  deleteMeans: 'Its members lose their roles in it. It cannot be deleted while it owns projects.',
});
