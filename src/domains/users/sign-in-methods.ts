/** External sign-in providers, as in `User.ssoType`, `Session.provider`, `Identity` and `SignInRule`. */
export type SignInProvider = 'ldap' | 'sso';

/** The configured methods of signing in. */
export interface SignInMethods {
  /**
   * Lower-case address of the emergency administrator, the only user with a valid local password. `null` if all local
   * passwords are valid.
   */
  readonly onlyEmail: string | null;
  /** The configured external providers. */
  readonly providers: readonly SignInProvider[];
}
