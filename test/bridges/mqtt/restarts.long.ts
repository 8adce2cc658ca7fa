import { expect, test } from 'vitest';
import { ADMINISTRATOR, connect, startTestBroker } from '../../embedded/embedded.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { passThroughRestarts, type Restarts } from './restarts.ts';

const COUNT = 100_000;

function report(name: string, { repeated, untilLost, untilBack, seconds }: Restarts): void {
  const shown = (times: readonly number[]) => times.map((ms) => `${ms.toFixed(0)} ms`).join(', ');
  console.log(
    `${name}: ${COUNT} messages in ${seconds.toFixed(1)} s, ${repeated} repeated; told lost after ${shown(untilLost)}, back after ${shown(untilBack)}`,
  );
  for (const ms of [...untilLost, ...untilBack]) expect(ms).toBeLessThan(1_000);
}

test('the other broker is restarted three times under 100,000 messages of the embedded broker', async () => {
  const broker = await startTestBroker();
  const local = { url: `mqtt://127.0.0.1:${broker.mqttPort}`, ...ADMINISTRATOR };
  report('embedded to Mosquitto', await passThroughRestarts(COUNT, local, () => connect(broker.mqttPort)));
});

test('the other broker is restarted three times under 100,000 messages of a Mosquitto', async () => {
  const broker = await startMosquitto({ lines: ['max_queued_messages 0'] });
  report('Mosquitto to Mosquitto', await passThroughRestarts(COUNT, { url: broker.url }, () => broker.client()));
});
