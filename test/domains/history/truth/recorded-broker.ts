import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { passwordFile } from '../../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { freePort } from '../../../support/free-port.ts';
import { FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { sharedDatabase } from '../../../support/service.ts';
import { startServiceProcess } from '../../../support/service-process.ts';
import { letEverybodyIn } from '../../clients/truth/observed-broker.ts';

const TAKEN_OVER_MS = 8_000;

/** A Mosquitto that a service process follows, over a link that can be cut. */
export async function recordedMosquitto() {
  const mosquitto = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const link = await startRelay(mosquitto.port);
  const service = await startServiceProcess();
  const brokerId = await service.addBroker(link.url);
  const killService = async () => {
    await service.kill();
    await service.start();
  };
  return { service, brokerId, port: mosquitto.port, mosquitto, link, killService };
}

/** A Mosquitto that one of two service processes on one PostgreSQL follows. */
export async function recordedByTwo() {
  const env = { DATABASE_URL: await sharedDatabase(), SECRET_KEY: '5e'.repeat(32) };
  const mosquitto = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const [one, two] = [await startServiceProcess(env), await startServiceProcess(env)];
  const brokerId = await one.addBroker(mosquitto.url);
  let next = one;
  /** Kills the processes in turn, each for long enough that the other one takes over. */
  const killNext = async () => {
    const service = next;
    next = service === one ? two : one;
    await service.kill();
    await delay(TAKEN_OVER_MS);
    await service.start();
  };
  return { service: one, brokerId, port: mosquitto.port, killNext };
}

/** The embedded broker of a service process, which is killed with it. */
export async function recordedEmbedded() {
  const port = await freePort();
  const env = { EMBEDDED_BROKER: 'on', MQTT_PORT: `${port}`, MQTT_WS_PORT: '0', MQTT_TLS_PORT: 'off' };
  const service = await startServiceProcess(env);
  const { projects } = await service.graphql('{ projects { nodes { brokers { nodes { id } } } } }');
  const brokerId: string = projects.nodes.flatMap(({ brokers }: { brokers: { nodes: object[] } }) => brokers.nodes)[0]
    .id;
  const url = `mqtt://127.0.0.1:${port}`;
  await letEverybodyIn(url, readFileSync(passwordFile(service.dataDir, brokerId), 'utf8'));
  const killService = async () => {
    await service.kill();
    await service.start();
  };
  return { service, brokerId, port, killService };
}
