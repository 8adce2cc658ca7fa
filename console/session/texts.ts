import { catalogue } from '../texts/texts.ts';

export const sessionTexts = catalogue('session', {
  signInTitle: 'Sign in',
  email: 'E-mail address or log-in name',
  password: 'Password',
  code: 'Code of the authenticator app, or a recovery code',
  signIn: 'Sign in',
  signInOpenId: 'Sign in at the identity provider',
  sessionEnded: 'Your session has ended. Sign in again to continue here.',
  signInFailed: 'The identity provider did not complete the sign-in. Begin again.',
  welcome: 'You are invited',
  choosePassword: 'Choose a password. With it and your e-mail address you sign in from now on.',
  passwordLength: 'At least 8 characters.',
  accept: 'Set the password',
  fromAddress: 'Address',
  signedInAt: 'Signed in',
  lastUsedAt: 'Last used',
  signedInBy: 'By',
  byPassword: 'password',
  thisSession: 'this session',
  endSessionFrom: 'End the session from {address}',
});
