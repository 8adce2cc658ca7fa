import type { IClientOptions, MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../../support/service.ts';
import { type Random, randomOf } from '../truth/random.ts';
import { addBroker } from './commercial-broker.ts';
import { DISCONNECT_MANY, type Result } from './operations.ts';

/** Clients that share one of these may be affected without being selected. */
const SHARED = ['u1', 'u2', 'admin'] as const;
const PERSISTENT = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 600 } } as const;

const TURNS = 12;

/** Clients of random accounts, here or not, with clean and persistent sessions. */
class Devices {
  readonly here = new Map<string, MqttClient>();
  readonly #random: Random;
  readonly #join: (options: IClientOptions) => Promise<MqttClient>;

  constructor(random: Random, join: (options: IClientOptions) => Promise<MqttClient>) {
    this.#random = random;
    this.#join = join;
  }

  /** Those who went come back, perhaps with another account. */
  async fill(ids: readonly string[]): Promise<void> {
    for (const clientId of ids) {
      if (this.here.has(clientId)) continue;
      const username = this.#random.pick(SHARED);
      const password = username === ADMIN.username ? ADMIN.password : username;
      const client = await this.#join({ clientId, username, password, ...(this.#random.chance(0.5) && PERSISTENT) });
      this.here.set(clientId, client);
      client.once('close', () => this.here.delete(clientId));
    }
  }
}

async function listedAs(service: TestService, brokerId: string, ids: readonly string[]) {
  const query =
    'query ($id: ID!) { broker(id: $id) { connectedClients(first: 50, filter: { isConnected: true }) { isComplete nodes { clientId isGateway } } } }';
  const list = async () => {
    const { isComplete, nodes } = (await service.graphql(query, { id: brokerId })).data.broker.connectedClients;
    type Node = { readonly clientId: string; readonly isGateway: boolean };
    const others = nodes.filter(({ isGateway }: Node) => !isGateway).map(({ clientId }: Node) => clientId);
    return { isComplete, others: others.sort() };
  };
  await expect.poll(list).toEqual({ isComplete: true, others: [...ids].sort() });
}

test.each(['dynsec', 'anonymous'] as const)(
  'a dry run returns the result for each client, and the other clients that would be disconnected (%s)',
  async (access) => {
    const mosquitto = await startMosquitto({ access, logTypes: FOLLOWED_LOG });
    const service = await startTestService();
    const brokerId = await addBroker(service, mosquitto.url, ADMIN);
    const broker = service.services.brokers.visibleIn(service.projectId, null)[0];
    if (!broker) throw new Error('There is no broker');
    const { controls } = service.services.runtimes.get(broker);
    await controls.capability('cedalo/inspect');
    if (access === 'dynsec') {
      for (const username of ['u1', 'u2']) {
        await controls.call('dynamic-security', 'createClient', { username, password: username });
      }
    }
    const seed = Number(process.env.SEED ?? 4_711);
    const random = randomOf(seed);
    const devices = new Devices(random, (options) => mosquitto.client(options));
    const ids = Array.from({ length: 6 }, (_, index) => `d${index}`);
    const seen = new Set<string>();
    for (let turn = 0; turn < TURNS; turn++) {
      await devices.fill(ids);
      await listedAs(service, brokerId, ids);
      const takeover = random.chance(0.5);
      await service.graphql(
        'mutation ($b: ID!, $t: Boolean!) { updateBroker(input: { brokerId: $b, allowsClientTakeover: $t }) { broker { id } } }',
        { b: brokerId, t: takeover },
      );
      const clientIds = [...ids.filter(() => random.chance(0.5)), 'nobody'];
      const input = { brokerId, clientIds, force: random.chance(0.5) };
      const run = async (dryRun: boolean) => {
        const { data, errors } = await service.graphql(DISCONNECT_MANY, { input: { ...input, dryRun } });
        expect(errors).toBeUndefined();
        const { results, alsoDisconnected } = data.disconnectClients;
        return {
          results: results.map(({ clientId, status, error }: Result) => [
            clientId,
            status,
            error?.code,
            error?.message,
          ]),
          also: [...alsoDisconnected].sort(),
        };
      };
      const dry = await run(true);
      expect(devices.here.size).toBe(ids.length);
      const done = await run(false);
      const message = `SEED=${seed} turn ${turn} ${JSON.stringify({ ...input, takeover })}`;
      const promised = dry.results.map(([id, status, ...error]: unknown[]) => [
        id,
        status === 'WOULD_DISCONNECT' ? 'DISCONNECTED' : status,
        ...error,
      ]);
      expect(done, message).toEqual({ results: promised, also: dry.also });
      const gone = done.results
        .filter(([, status]: unknown[]) => status === 'DISCONNECTED')
        .map(([id]: unknown[]) => id);
      const left = ids.filter((id) => !gone.includes(id) && !done.also.includes(id)).sort();
      await expect.poll(() => [...devices.here.keys()].sort(), { message }).toEqual(left);
      for (const [, status, code = ''] of done.results) seen.add(`${status} ${code}`.trim());
      if (done.also.length > 0) seen.add('others');
    }
    const outcomes = ['DISCONNECTED', 'NOT_FOUND NOT_FOUND', 'REFUSED IN_USE'];
    const more = access === 'dynsec' ? ['others'] : ['REFUSED NOT_SUPPORTED_BY_BROKER'];
    expect([...seen].sort()).toEqual([...outcomes, ...more].sort());
  },
);
