import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../support/suite.ts';
import { useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { got, publish, subscribe } from './shared.ts';

const broker = useTestBroker();

const membership = fc.record({
  qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
  rap: fc.boolean(),
  isKept: fc.boolean(),
  receiveMaximum: fc.constantFrom(1, 100),
});

test('another member gets a message with its own QoS and RETAIN flag [MQTT-4.8.2-3]', async () => {
  const port = broker().mqttPort;
  const publisher = await rawClient(port, { clientId: 'publisher-own' });
  let round = 0;
  const property = fc.asyncProperty(
    membership.filter(({ qos }) => qos > 0),
    membership,
    fc.constantFrom(1 as const, 2 as const),
    fc.boolean(),
    async (first, second, qos, retain) => {
      round += 1;
      const topic = `own-${round}`;
      const join = async (clientId: string, { isKept, receiveMaximum, ...options }: typeof first) => {
        const properties = { receiveMaximum, ...(isKept ? { sessionExpiryInterval: 60 } : {}) };
        const client = await rawClient(port, { clientId, clean: !isKept, properties });
        await subscribe(client, `$share/g/${topic}`, options);
        return client;
      };
      const leaving = await join(`first-${round}`, first);
      await publish(publisher, topic, ['a', 'b'], { qos, retain });
      await leaving.settle();
      // [MQTT-4.8.2-5] A message of QoS 2 that was sent belongs to the first member.
      const isGiven = (text: string) => Math.min(qos, first.qos) === 1 || !got(leaving).includes(text);
      const expected = ['a', 'b'].filter(isGiven);
      const other = await join(`second-${round}`, { ...second, receiveMaximum: 100 });
      await leaving.leave();
      await other.until('publish', expected.length);
      await other.settle();
      const flags = other.packets.flatMap((packet) =>
        packet.cmd === 'publish' ? [{ text: packet.payload.toString(), qos: packet.qos, retain: packet.retain }] : [],
      );
      const granted = { qos: Math.min(qos, second.qos), retain: retain && second.rap };
      expect(flags).toEqual(expected.map((text) => ({ text, ...granted })));
      await other.leave();
      for (const number of ['first', 'second'])
        await (await rawClient(port, { clientId: `${number}-${round}` })).leave();
      if (retain) await publish(publisher, topic, [''], { retain });
    },
  );
  await fc.assert(property, { numRuns: runs(30), endOnFailure: true });
});
