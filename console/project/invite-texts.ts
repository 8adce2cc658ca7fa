import { catalogue } from '../texts/texts.ts';

export const inviteTexts = catalogue({
  en: {
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
  },
  de: {
    email: 'E-Mail-Adresse',
    role: 'Rolle',
    nameDefault: 'Ohne Angabe: der Teil der Adresse vor dem @.',
    invite: 'Jemanden einladen',
    createLink: 'Link erzeugen',
    invitationOf: 'Einladung von {email}',
    sendLink:
      'Senden Sie diesen Link der Person, die damit ihr Passwort festlegt. Er wird nur hier gezeigt, gilt einmal und bis {time}. Eine weitere Einladung derselben Adresse ersetzt ihn.',
    noProjectYet: 'noch keines',
    requireSecondFactor: 'Zweiten Faktor verlangen',
    requireSecondFactorMeans: 'Ohne den Code einer App sieht die Person nichts und kann nur ihn einrichten.',
  },
});
