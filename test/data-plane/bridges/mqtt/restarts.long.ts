import { test } from 'vitest';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { ADMINISTRATOR, connect, startTestBroker } from '../../broker/embedded.ts';
import { passThroughRestarts, type Restarts } from './restarts.ts';

/** Each way. */
const COUNT = 50_000;

function report(name: string, { repeatedThere, repeatedHere, untilLost, untilBack, seconds }: Restarts): void {
  const shown = (times: readonly number[]) => times.map((ms) => `${ms.toFixed(0)} ms`).join(', ');
  console.log(
    `${name}: ${COUNT} messages each way in ${seconds.toFixed(1)} s, repeated ${repeatedThere} there and ${repeatedHere} here; told lost after ${shown(untilLost)}, back after ${shown(untilBack)}`,
  );
}

test('the other broker is restarted three times under 50,000 messages each way from and to the embedded broker', async () => {
  const broker = await startTestBroker();
  const local = { url: `mqtt://127.0.0.1:${broker.mqttPort}`, ...ADMINISTRATOR };
  report(
    'embedded and Mosquitto',
    await passThroughRestarts(COUNT, local, (options) => connect(broker.mqttPort, options)),
  );
});

test('the other broker is restarted three times under 50,000 messages each way from and to a Mosquitto', async () => {
  const broker = await startMosquitto({ lines: ['max_queued_messages 0'] });
  report(
    'Mosquitto and Mosquitto',
    await passThroughRestarts(COUNT, { url: broker.url }, (options) => broker.client(options)),
  );
});
