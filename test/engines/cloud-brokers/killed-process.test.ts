import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { endLeftOverIn } from '../../../src/engines/mosquitto/mosquitto-broker.ts';
import { startClient } from '../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { sharedDatabase } from '../../support/service.ts';
import { type StartedService, startServiceHere, startServiceProcess } from '../../support/service-process.ts';
import { isUp } from './cloud-world.ts';

const postgres = usePostgres();

const CREATE = 'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }';
const BROKER = `query ($id: ID!) { broker(id: $id) {
  url isConnected ... on CloudBroker { state problem runsOn { host isAvailable } }
} }`;

const folderOf = ({ dataDir }: StartedService, id: string) => join(dataDir, 'brokers', id);

describe.skipIf(!postgres.available)(
  `a killed process with brokers ${postgres.available ? '' : `(${UNAVAILABLE})`}`,
  () => {
    test('others say so within seconds; when all are back, each runs its own brokers with their data', async () => {
      const env = {
        DATABASE_URL: await sharedDatabase(postgres),
        SECRET_KEY: '5e'.repeat(32),
        BROKER_TIMEOUT_MS: '60000',
        MQTT_PORT: '0',
        MQTT_WS_PORT: '0',
        MQTT_TLS_PORT: 'off',
      };
      const api = await startServiceHere({ ...env, ROLE: 'api' });
      const one = await startServiceProcess({ ...env, EMBEDDED_BROKER: 'on' });
      const two = await startServiceProcess({ ...env, EMBEDDED_BROKER: 'on' });
      const about = async (id: string) => (await api.graphql(BROKER, { id })).broker;
      const ids: string[] = [];
      for (const engine of ['EMBEDDED', 'EMBEDDED', 'MOSQUITTO', 'MOSQUITTO']) {
        const input = { projectId: api.projectId, name: engine, engine };
        ids.push((await api.graphql(CREATE, { input })).createCloudBroker.broker.id);
      }
      onTestFinished(async () => {
        // Killed processes leave the Mosquitto processes that they ran.
        for (const service of [one, two]) {
          await service.kill();
          for (const id of ids) await endLeftOverIn(folderOf(service, id));
        }
      });
      const allUp = async () => {
        for (const id of ids) await expect.poll(() => about(id)).toMatchObject(isUp);
      };
      await allUp();
      const brokersOf = (service: StartedService) => ids.filter((id) => existsSync(folderOf(service, id)));
      const [ofOne, ofTwo] = [brokersOf(one), brokersOf(two)];
      expect([ofOne.length, ofTwo.length]).toEqual([2, 2]);
      const clientOf = async (service: StartedService, id: string) => {
        const password = readFileSync(join(folderOf(service, id), 'password'), 'utf8');
        return startClient((await about(id)).url, { username: 'admin', password });
      };
      for (const id of ofOne) {
        await (await clientOf(one, id)).publishAsync('kept', id, { qos: 1, retain: true });
      }

      const killed = performance.now();
      await one.kill();
      for (const id of ofOne) {
        await expect
          .poll(() => about(id))
          .toMatchObject({
            state: 'ERROR',
            problem: `The process on ${hostname()} that runs this broker is gone or cannot reach the database. Start it again with its data folder`,
            isConnected: false,
            runsOn: { host: hostname(), isAvailable: false },
          });
      }
      console.info(`    noticed after ${((performance.now() - killed) / 1_000).toFixed(1)} s`);
      for (const id of ofTwo) expect(await about(id)).toMatchObject(isUp);

      await two.kill();
      const again = { ...env, EMBEDDED_BROKER: 'on' };
      await Promise.all([one, two].map(({ dataDir }) => startServiceHere(again, dataDir)));
      await allUp();
      expect([brokersOf(one), brokersOf(two)]).toEqual([ofOne, ofTwo]);
      for (const id of ofOne) {
        const client = await clientOf(one, id);
        const kept = new Promise((resolve) => client.once('message', (_topic, payload) => resolve(payload.toString())));
        await client.subscribeAsync('kept');
        expect(await kept).toBe(id);
      }
    });
  },
);
