import { topicFilterProblem } from '../../../../src/data-plane/broker/connecting/topic-rules.ts';
import { EMBEDDED_DIALECT } from '../../../../src/data-plane/broker/dynamic-security/dynamic-security-access.ts';
import type { AccessPolicy, Membership } from '../../../../src/protocol/apis/access-control/access-model.ts';
import type { Refusal } from '../../../../src/protocol/apis/refusals/refusal.ts';
import { dynsecDone } from '../../../data-plane/broker/dynsec.ts';
import { connect, control, startTestBroker } from '../../../data-plane/broker/embedded.ts';
import { EVERYTHING, lostSubscription, PASSWORD, type Target } from './differential.ts';

/** The embedded broker, given each policy by commands. */
export async function embeddedTarget(): Promise<Target> {
  const { mqttPort: port } = await startTestBroker();
  if (port === null) throw new Error('no port');
  const owner = await connect(port, { clientId: 'the loader' });
  await dynsecDone(
    owner,
    {
      command: 'createRole',
      rolename: 'the admin',
      acls: EVERYTHING.flatMap((topic) =>
        ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((acltype) => ({
          acltype,
          topic,
          allow: true,
        })),
      ),
    },
    { command: 'createGroup', groupname: NOBODYS },
    { command: 'createClient', username: 'differential', password: PASSWORD },
    { command: 'addClientRole', username: 'differential', rolename: 'the admin' },
    { command: 'addClientRole', username: 'differential', rolename: 'admin' },
  );
  let loaded: AccessPolicy | null = null;
  /** Number of the last refusal that was read. */
  let after = 0;
  return {
    name: 'embedded',
    // Where a policy has no anonymous group this target has one, so that questions of anonymous clients can be watched.
    dialect: { ...EMBEDDED_DIALECT, isSoleAuthority: false },
    protocolVersion: 4,
    port,
    admin: { username: 'differential', password: PASSWORD },
    async load(policy) {
      await dynsecDone(owner, ...removal(loaded, policy), ...creation(policy, loaded));
      loaded = policy;
    },
    async refusals() {
      const found: Refusal[] = [];
      const from = after;
      for (let before = Number.MAX_SAFE_INTEGER; ; ) {
        const command = { command: 'listRefusals', after: from, before, count: 100 };
        const [answer] = await control(owner, 'brokergraph/refusals', { commands: [command] });
        const { sequence, refusals } = (answer as { data: { sequence: number; refusals: Refusal[] } }).data;
        after = sequence;
        found.push(...refusals);
        before = refusals.at(-1)?.sequence ?? 0;
        if (refusals.length < 100) return found;
      }
    },
    async subscriptionsOf(clientId) {
      const [answer] = await control(owner, 'cedalo/inspect', {
        commands: [{ command: 'getClient', clientid: clientId }],
      });
      return (answer as { data: { subscriptions: string[] } }).data.subscriptions;
    },
    excuse(check, policy) {
      const { action, topic } = check;
      if (topicFilterProblem(topic) !== null) return 'an invalid share name ends the connection; Mosquitto accepts it';
      if (action === 'PUBLISH' && topic.startsWith('$CONTROL/')) return 'what is published to $CONTROL reaches nobody';
      return lostSubscription(check, policy, EMBEDDED_DIALECT);
    },
  };
}

/** The anonymous group where the policy has none: it holds no role, and cannot be unset. */
const NOBODYS = 'nobody’s';

const rolesOf = (roles: readonly Membership[]) => roles.map(({ name, priority }) => ({ rolename: name, priority }));

function removal(old: AccessPolicy | null, policy: AccessPolicy) {
  return [
    { command: 'setAnonymousGroup', groupname: NOBODYS },
    ...[...(old?.groups.keys() ?? [])].map((groupname) => ({ command: 'deleteGroup', groupname })),
    ...[...(old?.roles.keys() ?? [])].map((rolename) => ({ command: 'deleteRole', rolename })),
    ...[...(old?.clients.keys() ?? [])]
      .filter((username) => !policy.clients.has(username))
      .map((username) => ({ command: 'deleteClient', username })),
  ];
}

function creation(policy: AccessPolicy, old: AccessPolicy | null) {
  const { defaultAcl, anonymousGroup } = policy;
  return [
    {
      command: 'setDefaultACLAccess',
      acls: Object.entries(defaultAcl).map(([acltype, allow]) => ({ acltype, allow })),
    },
    ...[...policy.roles.values()].map(({ rolename, allowWildcardSubs, acls }) => ({
      command: 'createRole',
      rolename,
      allowwildcardsubs: allowWildcardSubs !== false,
      acls: acls.map(({ aclType, topic, priority, allow }) => ({ acltype: aclType, topic, priority, allow })),
    })),
    ...[...policy.groups.values()].map(({ groupname, roles }) => ({
      command: 'createGroup',
      groupname,
      roles: rolesOf(roles),
    })),
    // Accounts stay: each new password would be hashed.
    ...[...policy.clients.values()].flatMap(({ username, clientId, disabled, roles, groups }) => [
      ...(old?.clients.has(username) ? [] : [{ command: 'createClient', username, password: PASSWORD }]),
      {
        command: 'modifyClient',
        username,
        clientid: clientId ?? '',
        roles: rolesOf(roles),
        groups: groups.map(({ name, priority }) => ({ groupname: name, priority })),
      },
      { command: disabled ? 'disableClient' : 'enableClient', username },
    ]),
    ...(anonymousGroup === null ? [] : [{ command: 'setAnonymousGroup', groupname: anonymousGroup }]),
  ];
}
