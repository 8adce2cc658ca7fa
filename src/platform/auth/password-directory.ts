/**
 * A directory that knows people by login and password, asked for accounts that have no password here: those made with its kind of
 * sign-in, and logins that nobody has here.
 */
export interface PasswordDirectory {
  /** As in `Session.provider`, and in `User.ssoType` of those who sign in there. */
  readonly provider: string;
  /**
   * The account of this person, made or brought up to date; UNKNOWN: the directory has nobody of that name; WRONG: it refused the
   * password. Both look the same to the caller, so they should cost the same. `login` as it was typed, without spaces around it.
   * Errors: ServiceError when it cannot be asked, or the person may not come in; such an attempt counts as no guess.
   */
  signIn(login: string, password: string, address: string): Promise<{ readonly userId: string } | 'UNKNOWN' | 'WRONG'>;
}
