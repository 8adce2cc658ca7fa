import { test } from 'vitest';
import { ADMINISTRATOR, connect, startTestBroker } from '../../broker/embedded.ts';
import { passThroughRestarts } from './restarts.ts';

test('the other broker is restarted three times under 5,000 messages each way: none is lost, none comes back', async () => {
  const broker = await startTestBroker();
  const local = { url: `mqtt://127.0.0.1:${broker.mqttPort}`, ...ADMINISTRATOR };
  await passThroughRestarts(5_000, local, (options) => connect(broker.mqttPort, options));
});
