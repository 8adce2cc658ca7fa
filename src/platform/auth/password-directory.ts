/** An external directory (LDAP) that checks passwords of its accounts and of unknown log-in names. */
export interface PasswordDirectory {
  readonly provider: string;
  /**
   * Creates or updates the account of a user. UNKNOWN and WRONG should take the same time. Errors: ServiceError if the
   * directory is unavailable or the user may not sign in, which is not counted as a guess.
   */
  signIn(login: string, password: string, address: string): Promise<{ readonly userId: string } | 'UNKNOWN' | 'WRONG'>;
}
