/** Entra ID sends claims like these in place of the groups of a user who has more than 200. */
import type { Claims } from '../rules/claim-values.ts';

export const IN_PLACE_OF_GROUPS = ['hasgroups', '_claim_names'] as const;

export const TOO_MANY_GROUPS =
  'the OpenID provider does not send the groups of a user, because there are too many: let it send only groups that are assigned to this application, or roles (OIDC_GROUPS_CLAIM)';

export function hidesGroups(claims: Claims, groupsClaim: string): boolean {
  if (Object.hasOwn(claims, groupsClaim)) return false;
  const { hasgroups, _claim_names: elsewhere } = claims;
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, groupsClaim);
  return isElsewhere || hasgroups === true || hasgroups === 'true';
}
