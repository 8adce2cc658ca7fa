/**
 * An external directory (LDAP) that checks log-in names and passwords. It is used for accounts of this sign-in provider
 * and for unknown log-in names.
 */
export interface PasswordDirectory {
  /** The value of `Session.provider` and of `User.ssoType` for users of this directory. */
  readonly provider: string;
  /**
   * Creates or updates the account of a user and returns its id. UNKNOWN: the directory has no user of this name.
   * WRONG: the directory refused the password. Callers receive the same response for both, so both should take the same
   * time. `login` is the typed name without surrounding spaces. Errors: ServiceError if the directory is unavailable or
   * the user may not sign in. Such an attempt is not counted as a guess.
   */
  signIn(login: string, password: string, address: string): Promise<{ readonly userId: string } | 'UNKNOWN' | 'WRONG'>;
}
