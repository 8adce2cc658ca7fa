import { expect, test } from 'vitest';
import { faultsOnNewBroker } from './fuzz.ts';
import type { ConnectPacket, FuzzPacket, Text } from './packets.ts';
import type { Sequence } from './sequence.ts';

const connect = (version: 4 | 5, fields: Partial<ConnectPacket> = {}): ConnectPacket => ({
  type: 'connect',
  version,
  id: 'c',
  clean: false,
  ...(version === 5 && { properties: [{ id: 17, value: 1_000 }] }),
  ...fields,
});
const send = (packets: readonly FuzzPacket[], on = 0) => ({ do: 'send', on, packets, waits: true }) as const;
const drop = { do: 'drop', on: 0, how: 'end', waits: true } as const;
const restart = { do: 'restart', how: 'close' } as const;
const kill = { do: 'restart', how: 'kill' } as const;

const deepWill = (version: 4 | 5): Sequence => {
  const will = { topic: { repeat: 'a/', times: 200, end: 'z' }, payload: 'x', qos: 1, retain: true };
  const client = send([connect(version, { will })]);
  return [client, drop, client, kill, send([connect(version)])];
};

const released = { type: 'pubrel', packetId: 5 } as const;
const releasedTwice = (version: 4 | 5): Sequence => [
  send([connect(version), { type: 'publish', topic: 'a', payload: 'x', qos: 2, packetId: 5 }, released, released]),
];

const resubscribed = (version: 4 | 5, filter: Text): Sequence => [
  send([
    connect(version),
    {
      type: 'subscribe',
      packetId: 1,
      filters: [
        { filter, options: 1 },
        { filter: 'a', options: 1 },
      ],
    },
  ]),
  drop,
  send([connect(version)]),
  restart,
  send([connect(version)]),
];

const cutProperty: Sequence = [send([connect(5), { type: 'raw', hex: '32120005746f706963123401087061796c6f6164' }])];

/** Sequences that crashed earlier versions of the broker, immediately or at the next start. */
const CRASHES: readonly (readonly [string, Sequence])[] = [
  ['a will with 201 levels (MQTT 3.1.1)', deepWill(4)],
  ['a will with 201 levels (MQTT 5)', deepWill(5)],
  ['PUBREL twice in one segment (MQTT 3.1.1)', releasedTwice(4)],
  ['PUBREL twice in one segment (MQTT 5)', releasedTwice(5)],
  ['a subscription to __proto__ in a session that comes back (MQTT 3.1.1)', resubscribed(4, '__proto__')],
  ['a subscription to __proto__ in a session that comes back (MQTT 5)', resubscribed(5, '__proto__')],
  ['a PUBLISH whose Response Topic is cut off', cutProperty],
];

test.each(CRASHES)('the broker survives %s, and its next start', async (_name, sequence) => {
  expect(await faultsOnNewBroker(sequence)).toEqual([]);
});
