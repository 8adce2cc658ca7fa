import {
  type AclRule,
  DEFAULT_MEMBERSHIP_PRIORITY,
  MAX_PRIORITY,
  type Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import type { AccessControl, Identity } from '../connecting/access.ts';
import type { WorkerOptions } from '../worker-protocol.ts';
import type { AccessStore } from './access-store.ts';
import { holds, sortMemberships } from './membership-fields.ts';
import { ADMINISTRATOR_COST, hashPassword, type PasswordCheck } from './password-check.ts';
import { sortAcls } from './role-commands.ts';

const ROLE = 'admin';

/** Ensures that the account of the service is enabled, has the password and no client id, and may use `$CONTROL`. */
export async function ensureAdministrator(
  store: AccessStore,
  { username, password }: WorkerOptions['administrator'],
  passwords: PasswordCheck,
  access: AccessControl,
): Promise<void> {
  const { state } = store;
  const { clients } = state.policy;
  if (store.isNew) state.putSettings({});
  const old = clients.get(username);
  if (!old) {
    const texts = { textName: 'Administrator', textDescription: null };
    state.putClient({ username, clientId: null, ...texts, disabled: false, roles: [], groups: [] });
  } else if (old.disabled || old.clientId !== null) {
    state.putClient({ ...old, disabled: false, clientId: null });
  }
  const hash = state.passwordHash(username);
  // This `PasswordCheck` also checks clients. It remembers the password, so the service connects without another check.
  const attempt = { username, password: Buffer.from(password), network: '' };
  if (hash === null || (await passwords.check({ ...attempt, hash })).verdict !== 'RIGHT') {
    state.putPasswordHash(username, await hashPassword(password, ADMINISTRATOR_COST));
  }
  if (!mayControl(access, username)) grant(store, username, access);
  await store.save();
}

/** Assigns the role of the first start if that suffices; otherwise one with a free name and the highest priority. */
function grant({ state }: AccessStore, username: string, access: AccessControl): void {
  const { clients, roles } = state.policy;
  const assign = (name: string, priority: number) => {
    const client = clients.get(username);
    if (!client) return;
    const others = client.roles.filter((role) => role.name !== name);
    const lowered = others.map((role) => ({ ...role, priority: Math.min(role.priority, MAX_PRIORITY - 1) }));
    const remaining: readonly Membership[] = priority === MAX_PRIORITY ? lowered : others;
    state.putClient({ ...client, roles: sortMemberships([...remaining, { name, priority }]) });
  };
  const create = (rolename: string) =>
    state.putRole({
      rolename,
      textName: null,
      textDescription: 'Everything, for the service itself',
      allowWildcardSubs: true,
      acls: ADMINISTRATOR_ACLS,
    });
  const before = clients.get(username);
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? ROLE : `${ROLE}-${number}`;
    if (!roles.has(name)) create(name);
    for (const priority of [DEFAULT_MEMBERSHIP_PRIORITY, MAX_PRIORITY]) {
      if (before && priority === DEFAULT_MEMBERSHIP_PRIORITY && holds(before.roles, name)) continue;
      assign(name, priority);
      if (mayControl(access, username)) return;
    }
    // An existing role with this name does not grant the permissions.
    if (before) state.putClient(before);
  }
}

/** Checks with a random client id, because the service connects with a new client id each time. */
function mayControl(access: AccessControl, username: string): boolean {
  const identity: Identity = { clientId: `service-${crypto.randomUUID()}`, username };
  return ['$CONTROL/dynamic-security/v1', '$CONTROL/cedalo/inspect/v1', '$CONTROL/broker/v1'].every(
    (topic) =>
      access.mayPublish(identity, topic) &&
      access.maySubscribe(identity, `${topic}/response`) &&
      access.mayReceive(identity, `${topic}/response`),
  );
}

const ADMINISTRATOR_ACLS: readonly AclRule[] = sortAcls(
  (['publishClientSend', 'publishClientReceive', 'subscribePattern', 'unsubscribePattern'] as const).flatMap(
    (aclType) =>
      ['#', '$CONTROL/#', '$SYS/#', '$share/#'].map((topic) => ({ aclType, topic, priority: 0, allow: true })),
  ),
);
