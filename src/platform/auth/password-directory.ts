/** An external directory (LDAP) that checks passwords of its accounts and of unknown log-in names. */
export interface PasswordDirectory {
  readonly provider: string;
  /**
   * Creates or updates the account of a user and returns its id. Callers receive the same response for UNKNOWN and
   * WRONG, so both should take the same time. Errors: ServiceError if the directory is unavailable or the user may not
   * sign in. Such an attempt is not counted as a guess.
   */
  signIn(login: string, password: string, address: string): Promise<{ readonly userId: string } | 'UNKNOWN' | 'WRONG'>;
}
