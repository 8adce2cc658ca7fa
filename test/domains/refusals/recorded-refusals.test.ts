import { describe, expect, test } from 'vitest';
import { UnidentifiedConnections } from '../../../src/domains/refusals/unidentified-connections.ts';
import { linesOf, RECORDED_VERSIONS, readRecording } from '../../protocol/mosquitto-log/recordings.ts';
import { startRefusals } from './recorded-refusals.ts';

type Version = (typeof RECORDED_VERSIONS)[number];
type Expected = readonly [reason: string, clientId?: string | null, listenerPort?: number | null] | null;

const NONE = null;
/** What each version reports of a refused connection. Without a listener: the log does not name it. */
const CONNECTS: readonly (readonly [scenario: string, Readonly<Record<Version, Expected>>])[] = [
  [
    'refused/wrong-password/v3.1.1/tcp',
    {
      '2.0.11': ['NOT_AUTHORIZED', null, 1883],
      '2.0.22': ['NOT_AUTHORIZED', 'wrongpw-4-tcp', 1883],
      '2.1.0': ['NOT_AUTHORIZED', 'wrongpw-4-tcp', 1883],
      '2.1.2': ['NOT_AUTHORIZED', 'wrongpw-4-tcp', 1883],
    },
  ],
  [
    'refused/wrong-password/v3.1.1/ws',
    {
      '2.0.11': NONE,
      // Its line may be the end of a client that connected earlier.
      '2.0.22': NONE,
      '2.1.0': ['NOT_AUTHORIZED', 'wrongpw-4-ws', 9001],
      '2.1.2': ['NOT_AUTHORIZED', 'wrongpw-4-ws', 9001],
    },
  ],
  ['refused/tls/no-certificate', inAll('TLS_CERTIFICATE_MISSING', 8884, [null, null])],
  ['refused/tls/foreign-certificate', inAll('TLS_CERTIFICATE_NOT_TRUSTED', 8884, [8884, null])],
  ['refused/tls/plain-mqtt-on-tls-port/tls', inAll('PLAIN_ON_TLS_LISTENER', 8883, [null, null])],
  ['refused/tls/tls-1.0-only', inAll('TLS_INCOMPATIBLE', 8883, [null, 8883])],
  ['refused/tls/client-does-not-trust/tls', inAll('TLS_REFUSED_BY_CLIENT', 8883, [8883, 8883])],
  [
    'malformed/protocol-level-9',
    {
      '2.0.11': ['PROTOCOL_VERSION', null, 1883],
      '2.0.22': ['PROTOCOL_VERSION', null, 1883],
      // 2.1 has the same words for other features.
      '2.1.0': ['NOT_SUPPORTED', null, 1883],
      '2.1.2': ['NOT_SUPPORTED', null, 1883],
    },
  ],
  ['malformed/protocol-name-HTTP', inAll('PROTOCOL_VERSION', 1883)],
  ['malformed/will-qos-3', inAll('WILL_REJECTED', 1883)],
  [
    'malformed/client-id-with-nul',
    {
      '2.0.11': ['PROTOCOL_ERROR', null, 1883],
      '2.0.22': ['PROTOCOL_ERROR', null, 1883],
      '2.1.0': ['CLIENT_ID_REJECTED', null, 1883],
      '2.1.2': ['CLIENT_ID_REJECTED', null, 1883],
    },
  ],
  ['malformed/will-on-control/v3.1.1', { ...inAll('WILL_REJECTED', 1883), '2.0.11': NONE }],
  ['malformed/mqtt-bytes-on-ws-port', { ...inAll('WEBSOCKET_REQUEST', 9001), '2.0.11': NONE, '2.0.22': NONE }],
  ['malformed/http-on-ws/post', { ...inAll('WEBSOCKET_REQUEST', 9001), '2.0.11': NONE, '2.0.22': NONE }],
  [
    'silent/nothing-sent',
    {
      '2.0.11': ['NO_CONNECT'],
      '2.0.22': ['NO_CONNECT'],
      '2.1.0': ['NO_CONNECT'],
      // Two listeners: the entry has the last one.
      '2.1.2': ['NO_CONNECT', null, 8883],
    },
  ],
];

/** @param in20 the listeners that 2.0.11 and 2.0.22 report */
function inAll(reason: string, listenerPort: number, in20: readonly (number | null)[] = [listenerPort, listenerPort]) {
  const [first = null, second = null] = in20;
  const newer = [reason, null, listenerPort] as const;
  return { '2.0.11': [reason, null, first], '2.0.22': [reason, null, second], '2.1.0': newer, '2.1.2': newer } as const;
}

/** Packets of connected clients, which all versions name. */
const PACKETS: readonly (readonly [scenario: string, reason: string, clientId: string])[] = [
  ['malformed/admitted/unknown-topic-alias', 'PROTOCOL_ERROR', 'mal-unknown-topic-alias'],
  ['malformed/admitted/topic-alias-too-high', 'PROTOCOL_ERROR', 'mal-topic-alias-too-high'],
  ['malformed/admitted/auth-packet', 'PROTOCOL_ERROR', 'mal-auth-packet'],
  ['malformed/admitted/unsubscribe-invalid-filter-v3.1.1', 'INVALID_TOPIC', 'mal-unsubscribe-invalid-filter-v3.1.1'],
  ['limit/packet-too-large/v5', 'PACKET_TOO_LARGE', 'toolarge-5'],
  ['limit/qos-too-high/v5', 'NOT_SUPPORTED', 'qoshigh-5'],
];

describe.each(RECORDED_VERSIONS)('Mosquitto %s', (name) => {
  const recording = readRecording(name);

  test('refused connections have the reason, address and listener that the log has', async () => {
    const { refusalsOf } = await startRefusals(recording.version);
    for (const [scenario, { [name]: expected }] of CONNECTS) {
      // Mosquitto 2.0 logs nothing about some.
      const log = recording.scenarios.find((one) => one.name === scenario)?.log ?? [];
      const refusals = await refusalsOf(log);
      const [reason, clientId = null, listenerPort] = expected ?? [];
      const entry = { kind: 'CONNECT', reason, clientId, address: '127.0.0.1' };
      expect(refusals, scenario).toMatchObject(
        expected === NONE ? [] : [listenerPort === undefined ? entry : { ...entry, listenerPort }],
      );
    }
  });

  test('refused packets have the client, its account and its listener', async () => {
    const { refusalsOf } = await startRefusals(recording.version);
    for (const [scenario, reason, clientId] of PACKETS) {
      expect(await refusalsOf(linesOf(recording, scenario)), scenario).toMatchObject([
        { kind: 'PACKET', reason, clientId, username: 'dev', address: '127.0.0.1', listenerPort: expect.any(Number) },
      ]);
    }
  });

  test('no entry has an address as client id, and none is of a connection that was not refused', async () => {
    const { refusalsOf } = await startRefusals(recording.version);
    for (const { name: scenario, log } of recording.scenarios) {
      const refusals = await refusalsOf(log);
      expect(refusals.map(({ clientId }) => clientId)).not.toContain('127.0.0.1');
      if (scenario.startsWith('end/') || scenario.startsWith('restart/')) expect(refusals, scenario).toEqual([]);
    }
  });

  test('clients that fight for a client id are reported with both connections, over each transport', async () => {
    const { refusalsOf } = await startRefusals(recording.version);
    const [other] = await refusalsOf(linesOf(recording, 'take-over/v3.1.1/by-other-account'));
    expect(other).toMatchObject({ kind: 'TAKEOVER', reason: 'TAKEN_OVER', count: 1, address: '127.0.0.1' });
    expect([other?.username, other?.takenOverBy?.username].every((user) => typeof user === 'string')).toBe(true);
    expect(other?.takenOverBy?.username).not.toBe(other?.username);
    // A broker without `log_type error` logs the new connections only.
    for (const isWhole of [true, false]) {
      const again = await startRefusals(recording.version);
      for (const { name: scenario, log } of recording.scenarios) {
        if (!/^take-over\/v.*-by-/.test(scenario) || /other-account/.test(scenario)) continue;
        // The late end of a WebSocket of 2.0 looks like that of the connection that replaced it.
        if (!isWhole && /ws-by/.test(scenario)) continue;
        const lines = log.filter(([level]) => isWhole || level !== 'E');
        expect([await again.refusalsOf(lines), await again.refusalsOf(lines)], scenario).toEqual([[], []]);
        expect(await again.refusalsOf(lines), scenario).toMatchObject([
          { kind: 'TAKEOVER', reason: 'TAKEN_OVER', count: 1, takenOverBy: { address: '127.0.0.1', username: 'dev' } },
        ]);
      }
    }
  });

  test('refused connections with the client id of another client take over nothing', async () => {
    const { refusalsOf } = await startRefusals(recording.version);
    for (let round = 0; round < 4; round++) {
      for (const { name: scenario, log } of recording.scenarios) {
        if (!/^take-over\/(wrong|unknown|anonymous|disabled|attempt)/.test(scenario)) continue;
        const kinds = (await refusalsOf(log)).map(({ kind }) => kind);
        expect(kinds, scenario).not.toContain('TAKEOVER');
      }
    }
  });

  test('a client that reconnects again and again after its connection was cut is in no fight', async () => {
    const { refusalsOf } = await startRefusals(recording.version);
    for (let round = 0; round < 4; round++) {
      for (const { name: scenario, log } of recording.scenarios) {
        if (scenario.startsWith('end/')) expect(await refusalsOf(log), scenario).toEqual([]);
      }
    }
  });

  test('a wrong password does not take the listener from later refusals', async () => {
    const { refusalsOf, limit } = await startRefusals(recording.version);
    const refusals = await refusalsOf(linesOf(recording, 'refused/tls/refused-after-wrong-password'));
    expect(refusals).toMatchObject([
      { reason: 'NOT_AUTHORIZED', listenerPort: 1883 },
      { reason: 'TLS_CERTIFICATE_MISSING', listenerPort: 8884 },
    ]);
    expect(limit()).toContain(name === '2.1.0' ? 'Mosquitto 2.1.0' : `Mosquitto ${name.slice(0, 3)}`);
  });
});

test('connections without a valid PROXY header are refused, and have neither client nor address', async () => {
  const { refusalsOf } = await startRefusals('mosquitto version 2.1.2');
  const rejected = 'Connection rejected, corrupt PROXY header.';
  const end = 'Client (null) [(null):0] disconnected: bad socket read/write: Invalid input';
  const unknown = { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', clientId: null, address: null, listenerPort: null };
  const others = [
    'Client (null) [(null):0] disconnected: connection closed by client.',
    'Client stored [(null):0] disconnected.',
    'Connection from 203.0.113.9:55555 negotiated TLSv1.3 cipher TLS_AES_256_GCM_SHA384',
  ];
  expect(await refusalsOf(others.map((text) => ['N', text]))).toEqual([]);
  // Version 1 of the PROXY protocol.
  expect(await refusalsOf([rejected, end].map((text) => ['N', text]))).toMatchObject([
    { ...unknown, detail: rejected },
  ]);
  // Version 2.
  expect(await refusalsOf([['N', end]])).toMatchObject([{ ...unknown, detail: 'Invalid input' }]);
});

test('the address of a refused connection is reported only if it is certain', () => {
  const connections = new UnidentifiedConnections();
  connections.opened('10.0.0.1', 1, 1883);
  expect(connections.closed()).toMatchObject({ address: '10.0.0.1', listenerPort: 1883 });
  expect(connections.closed()).toEqual({});

  connections.opened('10.0.0.1', 1, 1883);
  connections.opened('10.0.0.2', 2, 1883);
  expect(connections.closed()).toEqual({ listenerPort: 1883 });
  // The other one gets a client, so the closed one is known.
  connections.identified('10.0.0.1', 1);
  connections.opened('10.0.0.3', 3, 1883);
  expect(connections.closed()).toEqual({ address: '10.0.0.3', listenerPort: 1883 });
});

const tell = (...texts: string[]) => texts.map((text) => ['N', text] as const);
const CONNECTED = "New client connected from 10.0.0.1:5 as pump-7 (p2, c1, k60, u'pump').";

test('a refused client whose id looks like the end of another client is listed with its id', async () => {
  const { refusalsOf } = await startRefusals('mosquitto version 2.0.22');
  await refusalsOf(tell('New connection from 10.0.0.1:5 on port 1883.', CONNECTED));
  const line = 'Client pump-7 disconnected due to x disconnected, not authorised.';
  expect(await refusalsOf(tell('New connection from 10.0.0.2:6 on port 1883.', line))).toMatchObject([
    {
      kind: 'CONNECT',
      reason: 'NOT_AUTHORIZED',
      clientId: 'pump-7 disconnected due to x',
      address: '10.0.0.2',
      listenerPort: 1883,
    },
  ]);
});

test.each([
  ['2.1.2', 'Client other [10.0.0.2:6] disconnected: bad socket read/write: Invalid input', 'other'],
  ['2.1.0', 'Bad socket read/write on client other: Invalid input', 'other'],
  // Its port differs from that of the connected client.
  ['2.1.2', 'Client pump-7 [10.0.0.2:6] disconnected: bad socket read/write: Invalid input', 'pump-7'],
])('a client beyond `global_max_clients` is refused (%s: %s)', async (version, line, clientId) => {
  // A listener with the PROXY protocol logs no new connections.
  for (const opened of [[], tell('New connection from 10.0.0.2:6 on port 1883.')]) {
    const { refusalsOf } = await startRefusals(`mosquitto version ${version}`);
    await refusalsOf(tell(CONNECTED));
    expect(await refusalsOf([...opened, ...tell(line)])).toMatchObject([
      { kind: 'CONNECT', reason: 'TOO_MANY_SESSIONS', clientId },
    ]);
  }
});

test('a refused packet has the cause that an earlier line reports, of two lines the first', async () => {
  const { refusalsOf } = await startRefusals('mosquitto version 2.1.2');
  const causes = [
    ['Invalid PUBLISH (QoS=0 and DUP=1) from pump-7, disconnecting.'],
    [
      'Protocol error from pump-7: AUTH packet before CONNECT,',
      '     or attempted to continue authentication when no authentication in progress.',
    ],
  ];
  for (const lines of causes) {
    const end = 'Client pump-7 [10.0.0.1:5] disconnected: protocol error.';
    const [refusal] = await refusalsOf(tell(CONNECTED, ...lines, end));
    const detail = lines[0]?.replace('Protocol error from pump-7: ', '');
    expect(refusal).toMatchObject({ kind: 'PACKET', reason: 'PROTOCOL_ERROR', clientId: 'pump-7', detail });
  }
});
