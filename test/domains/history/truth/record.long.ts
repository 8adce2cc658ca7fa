import { test } from 'vitest';
import { checkRecord } from './check-record.ts';
import { recordedByTwo, recordedEmbedded, recordedMosquitto } from './recorded-broker.ts';

/** Seconds of each test. */
const SECONDS = Number(process.env.RECORD_SECONDS ?? 600);
const CLIENTS = Number(process.env.RECORD_CLIENTS ?? 200);
const timeout = (SECONDS + 300) * 1_000;

const times = (fault: () => unknown): (() => unknown)[] => Array.from({ length: Math.ceil(SECONDS / 30) }, () => fault);

test('events of Mosquitto are true although the service is killed', { timeout }, async () => {
  const broker = await recordedMosquitto();
  await checkRecord(broker, { clients: CLIENTS, seconds: SECONDS, faults: times(broker.killService) });
});

test('events of the embedded broker are true although it is killed with the service', { timeout }, async () => {
  const broker = await recordedEmbedded();
  await checkRecord(broker, { clients: CLIENTS, seconds: SECONDS, faults: times(broker.killService) });
});

test('events of Mosquitto are true although the link is cut', { timeout }, async () => {
  const broker = await recordedMosquitto();
  await checkRecord(broker, { clients: CLIENTS, seconds: SECONDS, faults: times(broker.link.cut) });
});

test('events of Mosquitto are true although it restarts', { timeout }, async () => {
  const broker = await recordedMosquitto();
  const { mosquitto } = broker;
  const restart = async () => {
    await mosquitto.stop();
    await mosquitto.start();
  };
  const kill = async () => {
    await mosquitto.kill();
    await mosquitto.start();
  };
  await checkRecord(broker, { clients: CLIENTS, seconds: SECONDS, faults: [...times(restart), ...times(kill)] });
});

test.skipIf(process.env.TEST_ENGINE !== 'postgresql')(
  'events of Mosquitto are true although each of two processes is killed and the other one takes over',
  { timeout },
  async () => {
    const broker = await recordedByTwo();
    await checkRecord(broker, { clients: CLIENTS, seconds: SECONDS, faults: times(broker.killNext) });
  },
);
