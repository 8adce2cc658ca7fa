/** External sign-in providers, as in `User.ssoType`, `Session.provider`, `Identity` and `SignInRule`. */
export type SignInProvider = 'ldap' | 'sso';

export interface SignInMethods {
  /** Lower-case address of the emergency administrator, the only user with a valid local password; or `null`. */
  readonly onlyEmail: string | null;
  readonly providers: readonly SignInProvider[];
}
