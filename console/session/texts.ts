import { catalogue } from '../texts/texts.ts';

export const sessionTexts = catalogue({
  en: {
    signInTitle: 'Sign in',
    email: 'E-mail address or log-in name',
    password: 'Password',
    code: 'Code of the authenticator app, or a recovery code',
    signIn: 'Sign in',
    signInOpenId: 'Sign in at the identity provider',
    sessionEnded: 'Your session has ended. Sign in again to continue here.',
    signInFailed: 'The identity provider did not complete the sign-in. Begin again.',
  },
  de: {
    signInTitle: 'Anmelden',
    email: 'E-Mail-Adresse oder Anmeldename',
    password: 'Passwort',
    code: 'Code der Authenticator-App oder ein Wiederherstellungscode',
    signIn: 'Anmelden',
    signInOpenId: 'Beim Identitätsanbieter anmelden',
    sessionEnded: 'Ihre Sitzung ist beendet. Melden Sie sich erneut an, um hier weiterzumachen.',
    signInFailed: 'Der Identitätsanbieter hat die Anmeldung nicht abgeschlossen. Beginnen Sie von vorn.',
  },
});
