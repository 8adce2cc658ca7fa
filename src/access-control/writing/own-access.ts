import type { AccessPolicy, Membership } from '../policy/access-model.ts';

/** By what this service's own connection has its rights. */
export interface OwnAccess {
  readonly groups: ReadonlySet<string>;
  readonly roles: ReadonlySet<string>;
}

/** `username` null: the service connects without user name, so by the anonymous group. */
export function ownAccess(policy: AccessPolicy, username: string | null): OwnAccess {
  const client = username === null ? undefined : policy.clients.get(username);
  const groups = (username === null ? anonymousOf(policy) : (client?.groups ?? [])).map(nameOf);
  const roles = [...(client?.roles ?? []), ...groups.flatMap((name) => policy.groups.get(name)?.roles ?? [])];
  return { groups: new Set(groups), roles: new Set(roles.map(nameOf)) };
}

const anonymousOf = ({ anonymousGroup }: AccessPolicy): Membership[] =>
  anonymousGroup === null ? [] : [{ name: anonymousGroup, priority: 0 }];

const nameOf = ({ name }: Membership): string => name;
