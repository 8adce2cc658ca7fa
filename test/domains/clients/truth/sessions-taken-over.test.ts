import { expect, test } from 'vitest';
import { embeddedBroker, mosquittoBroker } from './observed-broker.ts';
import { dialMqtt } from './raw-client.ts';

for (const [name, start] of [
  ['the embedded broker', embeddedBroker],
  ['Mosquitto', mosquittoBroker],
] as const) {
  test(`a session without expiry ends when its connection is taken over, others continue: ${name}`, async () => {
    const { port } = await start();
    const dial = (clientId: string, clean: boolean, expirySeconds: number) =>
      dialMqtt({ port, clientId, clean, expirySeconds, account: null, protocolVersion: 5, keepalive: 60 });
    for (const [clientId, expirySeconds] of [
      ['to end', 0],
      ['to stay', 600],
    ] as const) {
      const first = await dial(clientId, true, 600);
      await first.subscribe('kept', 1);
      const second = await dial(clientId, false, expirySeconds);
      expect(second.sessionPresent).toBe(true);
      const third = await dial(clientId, false, 600);
      expect(third.sessionPresent, clientId).toBe(expirySeconds > 0);
      third.destroy();
    }
  });
}
