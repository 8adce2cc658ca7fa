import { catalogue } from '../texts/texts.ts';

export const inviteTexts = catalogue('project/invite', {
  email: 'E-mail address',
  role: 'Role',
  nameDefault: 'Default: the part of the address before the @.',
  invite: 'Invite a person',
  createLink: 'Create the link',
  invitationOf: 'Invitation of {email}',
  sendLink:
    'Send this link to the person, who sets the password with it. It is shown only here, works once, and until {time}. Another invitation of the same address replaces it.',
  noProjectYet: 'none yet',
  requireSecondFactor: 'Require a second factor',
  requireSecondFactorMeans: 'Without the code of an app the person sees nothing, and can only set it up.',
});
