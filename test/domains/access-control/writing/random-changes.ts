import type { AccessChange, PutMode } from '../../../../src/domains/access-control/writing/access-change.ts';
import {
  ACL_TYPES,
  type AccessPolicy,
  type AclRule,
  type Membership,
} from '../../../../src/protocol/apis/access-control/access-model.ts';
import { ADMIN } from '../../../support/mosquitto.ts';
import type { Dice } from '../policy/random-policies.ts';

const USERS = ['ann', 'bob', 'cleo/ #+', 'dän 🜁', '%c'];
const GROUPS = ['g', 'g/2', 'größe'];
const ROLES = ['r', 'r 2', 'r#3', 'ﬀ'];
const TOPICS = ['a', 'a/#', '+/b', '#', '$SYS/#', 'ü/+'];
const TEXTS = [null, '', 'text', 'ü'];
const MODES: readonly PutMode[] = ['CREATE', 'UPDATE', 'PUT', 'PUT'];
const PRIORITIES = [-1, 0, 3, 100_000, -100_000];

/** Any changes: most can be carried out, some cannot. They leave ADMIN alone. */
export function randomChanges(dice: Dice, policy: AccessPolicy, count: number): AccessChange[] {
  const users = [...USERS, ...policy.clients.keys()].filter((name) => name !== ADMIN.username);
  const membership = (names: readonly string[]): Membership => ({
    name: dice.pick(names),
    priority: dice.pick(PRIORITIES),
  });
  const memberships = (names: readonly string[]): Membership[] =>
    dice.some(names, 3).map((name) => ({ name, priority: dice.pick(PRIORITIES) }));
  const rule = (): AclRule => ({
    aclType: dice.pick(ACL_TYPES),
    topic: dice.pick(TOPICS),
    priority: dice.pick(PRIORITIES),
    allow: dice.chance(50),
  });
  const rules = (): AclRule[] => {
    const all = Array.from({ length: dice.below(6) }, rule);
    return [...new Map(all.map((acl) => [`${acl.aclType} ${acl.topic}`, acl])).values()];
  };
  const maybe = <T extends object>(fields: T): Partial<T> => (dice.chance(60) ? fields : {});
  const texts = () => ({
    ...maybe({ textName: dice.pick(TEXTS) }),
    ...maybe({ textDescription: dice.pick(TEXTS) }),
  });
  const kinds: readonly (() => AccessChange)[] = [
    () => ({
      kind: 'PUT_CLIENT',
      username: dice.pick(users),
      mode: dice.pick(MODES),
      fields: {
        ...texts(),
        ...maybe({ clientId: dice.pick([null, 'id', 'id/2']) }),
        ...maybe({ disabled: dice.chance(50) }),
        ...maybe({ password: 'secret' }),
        ...maybe({ roles: memberships(ROLES) }),
        ...maybe({ groups: memberships(GROUPS) }),
      },
    }),
    () => ({ kind: 'DELETE_CLIENT', username: dice.pick(users) }),
    () => ({ kind: 'ADD_CLIENT_ROLE', username: dice.pick(users), role: membership(ROLES) }),
    () => ({ kind: 'REMOVE_CLIENT_ROLE', username: dice.pick(users), roleName: dice.pick(ROLES) }),
    () => ({ kind: 'ADD_CLIENT_GROUP', username: dice.pick(users), group: membership(GROUPS) }),
    () => ({ kind: 'REMOVE_CLIENT_GROUP', username: dice.pick(users), groupName: dice.pick(GROUPS) }),
    () => ({
      kind: 'PUT_GROUP',
      groupName: dice.pick(GROUPS),
      mode: dice.pick(MODES),
      fields: {
        ...texts(),
        ...maybe({ roles: memberships(ROLES) }),
        ...maybe({ clients: memberships([...new Set(users)]) }),
      },
    }),
    () => ({ kind: 'DELETE_GROUP', groupName: dice.pick(GROUPS) }),
    () => ({ kind: 'ADD_GROUP_ROLE', groupName: dice.pick(GROUPS), role: membership(ROLES) }),
    () => ({ kind: 'REMOVE_GROUP_ROLE', groupName: dice.pick(GROUPS), roleName: dice.pick(ROLES) }),
    () => ({
      kind: 'PUT_ROLE',
      roleName: dice.pick(ROLES),
      mode: dice.pick(MODES),
      fields: { ...texts(), ...maybe({ acls: rules() }) },
    }),
    () => ({ kind: 'DELETE_ROLE', roleName: dice.pick(ROLES) }),
    () => ({ kind: 'PUT_ROLE_ACL', roleName: dice.pick(ROLES), acl: rule() }),
    () => ({ kind: 'PUT_ROLE_ACL', roleName: dice.pick(ROLES), acl: rule() }),
    () => {
      const rolename = dice.pick(ROLES);
      const { aclType, topic } = dice.pick([...(policy.roles.get(rolename)?.acls ?? []), rule()]);
      return { kind: 'REMOVE_ROLE_ACL', roleName: rolename, aclType, topic };
    },
    () => ({
      kind: 'SET_DEFAULT_ACL',
      acl: { ...maybe({ subscribe: dice.chance(50) }), unsubscribe: dice.chance(50) },
    }),
    () => ({ kind: 'SET_ANONYMOUS_GROUP', groupName: dice.pick(GROUPS) }),
  ];
  // Makers first in half of the lists, so that there is something to change.
  const makers = [kinds[0], kinds[6], kinds[10]] as (() => AccessChange)[];
  return Array.from({ length: count }, () => dice.pick(dice.chance(35) ? makers : kinds)());
}
