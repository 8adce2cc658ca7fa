import { expect, test } from 'vitest';
import { faultsOnNewBroker } from './fuzz.ts';
import type { ConnectPacket, FuzzPacket, Text } from './packets.ts';
import type { Sequence } from './sequence.ts';

/** Client of connection `on`, before the broker is closed, between that and its kill, and afterwards. */
type Crash = (on: number) => readonly [Sequence, Sequence, Sequence];

const connect = (version: 4 | 5, on: number, fields: Partial<ConnectPacket> = {}): ConnectPacket => ({
  type: 'connect',
  version,
  id: `c${on}`,
  clean: false,
  ...(version === 5 && { properties: [{ id: 17, value: 1_000 }] }),
  ...fields,
});
const send = (on: number, ...packets: readonly FuzzPacket[]) => ({ do: 'send', on, packets, waits: true }) as const;
const drop = (on: number) => ({ do: 'drop', on, how: 'end', waits: true }) as const;

const deepWill =
  (version: 4 | 5): Crash =>
  (on) => {
    const will = { topic: { repeat: 'a/', times: 200, end: 'z' }, payload: 'x', qos: 1, retain: true };
    const client = send(on, connect(version, on, { will }));
    return [[], [client, drop(on), client], [send(on, connect(version, on))]];
  };

const released = { type: 'pubrel', packetId: 5 } as const;
const releasedTwice =
  (version: 4 | 5): Crash =>
  (on) => {
    const message = { type: 'publish', topic: 'a', payload: 'x', qos: 2, packetId: 5 } as const;
    return [[send(on, connect(version, on), message, released, released)], [], []];
  };

const resubscribed =
  (version: 4 | 5, filter: Text): Crash =>
  (on) => {
    const client = send(on, connect(version, on));
    const filters = [filter, 'a'].map((name) => ({ filter: name, options: 1 }));
    const subscribes = send(on, connect(version, on), { type: 'subscribe', packetId: 1, filters });
    return [[subscribes, drop(on), client], [client], []];
  };

const cut = { type: 'raw', hex: '32120005746f706963123401087061796c6f6164' } as const;
const cutProperty: Crash = (on) => [[send(on, connect(5, on), cut)], [], []];

/** Sequences that crashed earlier versions of the broker, immediately or at the next start. */
const CRASHES: readonly (readonly [string, Crash])[] = [
  ['a will with 201 levels (MQTT 3.1.1)', deepWill(4)],
  ['a will with 201 levels (MQTT 5)', deepWill(5)],
  ['PUBREL twice in one segment (MQTT 3.1.1)', releasedTwice(4)],
  ['PUBREL twice in one segment (MQTT 5)', releasedTwice(5)],
  ['a subscription to __proto__ in a session that comes back (MQTT 3.1.1)', resubscribed(4, '__proto__')],
  ['a subscription to __proto__ in a session that comes back (MQTT 5)', resubscribed(5, '__proto__')],
  ['a PUBLISH whose Response Topic is cut off', cutProperty],
];

/** One broker plays all sequences, because its starts cost more than they do. */
let faults: ReturnType<typeof faultsOnNewBroker> | undefined;

test.each(CRASHES)('the broker survives %s, and its next start', async () => {
  const part = (index: 0 | 1 | 2) => CRASHES.flatMap(([, crash], on) => crash(on)[index]);
  const restart = (how: 'close' | 'kill') => ({ do: 'restart', how }) as const;
  faults ??= faultsOnNewBroker([...part(0), restart('close'), ...part(1), restart('kill'), ...part(2)]);
  expect(await faults).toEqual([]);
});
