import type { MqttClient } from 'mqtt';
import { describe, expect, test } from 'vitest';
import type { AccessChange } from '../../../../src/domains/access-control/writing/access-change.ts';
import { mosquittoDialect } from '../dialects.ts';
import { DYNSEC_BROKERS, type DynsecBroker } from '../dynsec-brokers.ts';
import { at, openWriting, type Writing } from './written-access.ts';

const acl = (topic: string, allow = true) => ({ aclType: 'subscribePattern' as const, topic, priority: 0, allow });

/**
 * ann holds `r`, bob is in `g`, cleo is in `h`, which holds `r`, dan is in both groups, eve has nothing. The anonymous
 * group is `nobodies`, which holds `r2`. The account of the gateway has none of them.
 */
const START: readonly AccessChange[] = [
  { kind: 'PUT_ROLE', roleName: 'r', mode: 'CREATE', fields: { acls: [acl('a')] } },
  { kind: 'PUT_ROLE', roleName: 'r2', mode: 'CREATE', fields: { acls: [acl('a')] } },
  { kind: 'PUT_GROUP', groupName: 'g', mode: 'CREATE', fields: {} },
  { kind: 'PUT_GROUP', groupName: 'h', mode: 'CREATE', fields: { roles: [at('r')] } },
  { kind: 'PUT_GROUP', groupName: 'nobodies', mode: 'CREATE', fields: { roles: [at('r2')] } },
  { kind: 'SET_ANONYMOUS_GROUP', groupName: 'nobodies' },
  ...[
    { username: 'ann', roles: [at('r')], groups: [] },
    { username: 'bob', roles: [], groups: [at('g')] },
    { username: 'cleo', roles: [], groups: [at('h')] },
    { username: 'dan', roles: [], groups: [at('g'), at('h', 4)] },
    { username: 'eve', roles: [], groups: [] },
  ].map(
    ({ username, ...lists }): AccessChange => ({
      kind: 'PUT_CLIENT',
      username,
      mode: 'CREATE',
      fields: { password: 'secret', ...lists },
    }),
  ),
];

/** Every kind of write, in an order in which each has an effect. */
const WRITES: readonly AccessChange[] = [
  { kind: 'PUT_ROLE', roleName: 'new', mode: 'CREATE', fields: {} },
  { kind: 'PUT_GROUP', groupName: 'new', mode: 'CREATE', fields: { roles: [at('new')] } },
  { kind: 'PUT_CLIENT', username: 'new', mode: 'CREATE', fields: { roles: [at('new')], groups: [at('g')] } },
  { kind: 'PUT_CLIENT', username: 'ann', mode: 'UPDATE', fields: { textName: 'Ann' } },
  { kind: 'PUT_CLIENT', username: 'eve', mode: 'UPDATE', fields: { password: 'secret' } },
  {
    kind: 'PUT_CLIENT',
    username: 'bob',
    mode: 'UPDATE',
    fields: { groups: [at('h'), at('g', 3)], roles: [at('new')] },
  },
  { kind: 'ADD_CLIENT_ROLE', username: 'eve', role: at('r') },
  { kind: 'ADD_CLIENT_ROLE', username: 'eve', role: at('r', 3) },
  { kind: 'REMOVE_CLIENT_ROLE', username: 'eve', roleName: 'r' },
  { kind: 'ADD_CLIENT_GROUP', username: 'eve', group: at('g') },
  { kind: 'ADD_CLIENT_GROUP', username: 'eve', group: at('g', 2) },
  { kind: 'REMOVE_CLIENT_GROUP', username: 'eve', groupName: 'g' },
  { kind: 'PUT_GROUP', groupName: 'g', mode: 'UPDATE', fields: { textName: 'G' } },
  { kind: 'PUT_GROUP', groupName: 'new', mode: 'UPDATE', fields: { members: [at('ann'), at('eve')] } },
  { kind: 'PUT_GROUP', groupName: 'new', mode: 'UPDATE', fields: { members: [at('ann', 4), at('eve'), at('cleo')] } },
  { kind: 'PUT_GROUP', groupName: 'new', mode: 'UPDATE', fields: { textName: 'N', members: [at('ann', 4)] } },
  { kind: 'PUT_GROUP', groupName: 'nobodies', mode: 'UPDATE', fields: { textName: 'N', members: [at('eve')] } },
  { kind: 'ADD_GROUP_ROLE', groupName: 'g', role: at('new') },
  { kind: 'ADD_GROUP_ROLE', groupName: 'nobodies', role: at('r', 5) },
  { kind: 'REMOVE_GROUP_ROLE', groupName: 'g', roleName: 'new' },
  { kind: 'PUT_ROLE', roleName: 'r', mode: 'UPDATE', fields: { textName: 'R' } },
  { kind: 'PUT_ROLE', roleName: 'r', mode: 'UPDATE', fields: { acls: [acl('b')] } },
  { kind: 'PUT_ROLE_ACL', roleName: 'r', acl: acl('c') },
  { kind: 'PUT_ROLE_ACL', roleName: 'r2', acl: acl('c') },
  { kind: 'PUT_ROLE_ACL', roleName: 'r', acl: acl('c', false) },
  { kind: 'REMOVE_ROLE_ACL', roleName: 'r', aclType: 'subscribePattern', topic: 'c' },
  { kind: 'SET_DEFAULT_ACL', acl: { subscribe: true } },
  { kind: 'SET_ANONYMOUS_GROUP', groupName: 'g' },
  { kind: 'PUT_CLIENT', username: 'eve', mode: 'UPDATE', fields: { disabled: true } },
  { kind: 'PUT_CLIENT', username: 'eve', mode: 'UPDATE', fields: { disabled: false } },
  { kind: 'DELETE_ROLE', roleName: 'r' },
  { kind: 'DELETE_GROUP', groupName: 'h' },
  { kind: 'DELETE_CLIENT', username: 'dan' },
];

interface Connected {
  readonly clientId: string;
  readonly username: string | null;
}

const EVERYBODY: readonly Connected[] = [
  { clientId: 'ann-1', username: 'ann' },
  { clientId: 'ann-2', username: 'ann' },
  ...['bob', 'cleo', 'dan', 'eve'].map((username) => ({ clientId: `${username}-1`, username })),
  { clientId: 'nobody-1', username: null },
  { clientId: 'nobody-2', username: null },
];

/** Clients that reconnect after a disconnect if the broker accepts them. */
class Crowd {
  readonly #broker: DynsecBroker;
  readonly #clients = new Map<string, MqttClient>();

  constructor(broker: DynsecBroker) {
    this.#broker = broker;
  }

  async gather(): Promise<void> {
    for (const { clientId, username } of EVERYBODY) {
      if (this.#clients.get(clientId)?.connected) continue;
      const credentials = username === null ? {} : { username, password: 'secret' };
      const client = await this.#broker.client({ clientId, ...credentials }).catch(() => null);
      if (client) this.#clients.set(clientId, client);
    }
  }

  connected(): Connected[] {
    return EVERYBODY.filter(({ clientId }) => this.#clients.get(clientId)?.connected);
  }

  /** Who is still there, by the answer of the broker to each. */
  async survivors(among: readonly Connected[]): Promise<string[]> {
    const answered = await Promise.all(
      among.map(({ clientId }) => {
        const client = this.#clients.get(clientId);
        return client ? isAnswered(client) : false;
      }),
    );
    return among.filter((_client, index) => answered[index]).map(({ clientId }) => clientId);
  }
}

/** Any answer to a SUBSCRIBE will do. */
function isAnswered(client: MqttClient): Promise<boolean> {
  if (!client.connected) return Promise.resolve(false);
  return new Promise((resolve) => {
    const closed = () => resolve(false);
    client.once('close', closed);
    client.subscribe('is/anybody/there', () => {
      client.off('close', closed);
      resolve(client.connected);
    });
  });
}

/** Predicted, reported and really disconnected, of one list of changes. */
async function compare(crowd: Crowd, { apply, dryRun }: Writing, changes: readonly AccessChange[]) {
  await crowd.gather();
  const before = crowd.connected();
  const predicted = await dryRun(...changes);
  expect((await crowd.survivors(before)).length).toBe(before.length);
  const report = await apply(...changes);
  expect([changes, report.outcome]).toEqual([changes, 'APPLIED']);
  const left = await crowd.survivors(before);
  const kicked = before.map(({ clientId }) => clientId).filter((clientId) => !left.includes(clientId));
  const idsOf = ({ clients }: { readonly clients: readonly Connected[] }) => clients.map(({ clientId }) => clientId);
  expect([changes, idsOf(predicted.blastRadius)]).toEqual([changes, kicked]);
  expect(report.blastRadius).toEqual(predicted.blastRadius);
  return kicked;
}

describe.each(DYNSEC_BROKERS)('on $name', ({ name, start }) => {
  test('who is predicted to be disconnected is who is disconnected, for each kind of write', async () => {
    const broker = await start();
    const crowd = new Crowd(broker);
    const writing = await openWriting(broker.url, {
      connectedClients: async () => ({ clients: crowd.connected(), isComplete: true }),
    });
    expect(await writing.apply(...START)).toMatchObject({ outcome: 'APPLIED' });
    const kicked: string[] = [];
    for (const change of WRITES) kicked.push(...(await compare(crowd, writing, [change])));
    // It was no empty comparison.
    expect(new Set(kicked)).toEqual(new Set(EVERYBODY.map(({ clientId }) => clientId)));
  });

  test('and for all of them in one list', async () => {
    const broker = await start();
    const crowd = new Crowd(broker);
    const writing = await openWriting(broker.url, {
      connectedClients: async () => ({ clients: crowd.connected(), isComplete: true }),
    });
    await writing.apply(...START);
    const kicked = await compare(crowd, writing, WRITES.slice(0, 12));
    expect(kicked).toEqual(['ann-1', 'ann-2', 'bob-1', 'eve-1']);
  });

  test('rules of a whole role disconnect its holders where the broker does that', async () => {
    const broker = await start();
    const crowd = new Crowd(broker);
    const writing = await openWriting(broker.url, {
      connectedClients: async () => ({ clients: crowd.connected(), isComplete: true }),
    });
    await writing.apply(...START);
    const kicked = await compare(crowd, writing, [
      { kind: 'PUT_ROLE', roleName: 'r', mode: 'UPDATE', fields: { acls: [] } },
    ]);
    const isQuiet = name === 'Mosquitto' && !mosquittoDialect().disconnectsOnRoleAcls;
    expect(kicked).toEqual(isQuiet ? [] : ['ann-1', 'ann-2', 'cleo-1', 'dan-1']);
  });
});
