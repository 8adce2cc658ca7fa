import type { AccessPolicy, Membership } from '../policy/access-model.ts';
import { holdingsOf, rolesOfGroup } from '../policy/access-order.ts';

/** By what this service's own connection has its rights. */
export interface OwnAccess {
  readonly groups: ReadonlySet<string>;
  readonly roles: ReadonlySet<string>;
}

/** `username` null: the service connects without user name, so by the anonymous group. */
export function ownAccess(policy: AccessPolicy, username: string | null): OwnAccess {
  const held = holdingsOf(policy, username);
  const groups = (held?.groups ?? []).map(nameOf);
  const roles = [...(held?.roles ?? []), ...groups.flatMap((name) => rolesOfGroup(policy, name))];
  return { groups: new Set(groups), roles: new Set(roles.map(nameOf)) };
}

const nameOf = ({ name }: Membership): string => name;
