import fc from 'fast-check';
import { expect, test } from 'vitest';
import { END_PATTERNS } from '../../../src/protocol/mosquitto-log/client-patterns.ts';
import { readLine } from '../../../src/protocol/mosquitto-log/read-line.ts';
import { busyMs } from '../../support/busy-time.ts';

const known = (...ids: string[]) => ids.includes.bind(ids) as (id: string) => boolean;
const parseLogLine = (level: string, line: string, isKnown: (clientid: string) => boolean) =>
  readLine(level, line, null, isKnown);
const connected = {
  kind: 'CONNECTED',
  address: '127.0.0.1',
  port: 57604,
  bridge: false,
  clean: false,
  keepalive: 60,
  username: 'k1',
  isAmbiguous: false,
};
const at = 1_700_000_000_000;

test.each([
  [
    'N',
    'New connection from 127.0.0.1:57596 on port 21883.',
    { kind: 'OPENED', address: '127.0.0.1', port: 57596, listenerPort: 21883 },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as dev311 (p1, c0, k60, u'k1').",
    { ...connected, clientid: 'dev311', protocolVersion: 'v3.1' },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as dev311 (p2, c0, k60, u'k1').",
    { ...connected, clientid: 'dev311', protocolVersion: 'v3.1.1' },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as dev311 (p3, c0, k60, u'k1').",
    { ...connected, clientid: 'dev311', protocolVersion: 'v3.1' },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as dev311 (p4, c0, k60, u'k1').",
    { ...connected, clientid: 'dev311', protocolVersion: 'v3.1.1' },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as dev5 (p5, c1, k60, u'k1').",
    { ...connected, clientid: 'dev5', protocolVersion: 'v5', clean: true },
  ],
  [
    'N',
    'New client connected from 127.0.0.1:57604 as dev5 (p5, c0, k0).',
    { ...connected, clientid: 'dev5', protocolVersion: 'v5', username: null, keepalive: 0 },
  ],
  [
    'N',
    "New client connected from ::ffff:127.0.0.1:57604 as ws (p5, c0, k60, u'k1').",
    { ...connected, address: '::ffff:127.0.0.1', clientid: 'ws', protocolVersion: 'v5' },
  ],
  [
    'N',
    'New bridge connected from 127.0.0.1:43594 as host.b1 (p2, c0, k60).',
    { ...connected, port: 43594, clientid: 'host.b1', protocolVersion: 'v3.1.1', username: null, bridge: true },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as a b as c (p2, c1, k60, u'admin'). (p5, c0, k60, u'k1').",
    { ...connected, clientid: "a b as c (p2, c1, k60, u'admin').", protocolVersion: 'v5', isAmbiguous: true },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as d (p5, c0, k60, u'x (p5, c0, k60, u'admin'').",
    {
      ...connected,
      clientid: "d (p5, c0, k60, u'x",
      protocolVersion: 'v5',
      username: "admin'",
      isAmbiguous: true,
    },
  ],
  [
    'N',
    "New client connected from 127.0.0.1:57604 as d (p5, c0, k60, u'o'neill'').",
    { ...connected, clientid: 'd', protocolVersion: 'v5', username: "o'neill'" },
  ],
  [
    'N',
    'Client devtls negotiated TLSv1.3 cipher TLS_AES_256_GCM_SHA384',
    { kind: 'TLS', clientid: 'devtls', tls: { version: 'TLSv1.3', ciphers: 'TLS_AES_256_GCM_SHA384' } },
  ],
  ['N', 'Client dev5 disconnected.', { kind: 'DISCONNECTED', clientid: 'dev5', port: null, reason: 'disconnected' }],
  [
    'N',
    'Client dev5 [127.0.0.1:56272] disconnected.',
    { kind: 'DISCONNECTED', clientid: 'dev5', port: 56272, reason: 'disconnected' },
  ],
  [
    'N',
    'Client dev311 closed its connection.',
    { kind: 'DISCONNECTED', clientid: 'dev311', port: null, reason: 'connection closed by client' },
  ],
  [
    'N',
    'Client dev311 [127.0.0.1:45152] disconnected: connection closed by client.',
    { kind: 'DISCONNECTED', clientid: 'dev311', port: 45152, reason: 'connection closed by client' },
  ],
  [
    'N',
    'Client devka has exceeded timeout, disconnecting.',
    { kind: 'DISCONNECTED', clientid: 'devka', port: null, reason: 'exceeded timeout' },
  ],
  [
    'N',
    'Client devka [127.0.0.1:1] disconnected: exceeded timeout.',
    { kind: 'DISCONNECTED', clientid: 'devka', port: 1, reason: 'exceeded timeout' },
  ],
  [
    'N',
    'Client devkick been disconnected by administrative action.',
    { kind: 'DISCONNECTED', clientid: 'devkick', port: null, reason: 'administrative action' },
  ],
  [
    'N',
    'Client devkick [127.0.0.1:1] disconnected: administrative action.',
    { kind: 'DISCONNECTED', clientid: 'devkick', port: 1, reason: 'administrative action' },
  ],
  [
    'N',
    'Client dev5 [127.0.0.1:1] disconnected: session taken over.',
    { kind: 'DISCONNECTED', clientid: 'dev5', port: 1, reason: 'session taken over' },
  ],
  [
    'N',
    'Client <unknown> disconnected, not authorised.',
    { kind: 'DISCONNECTED', clientid: '<unknown>', port: null, reason: 'not authorised' },
  ],
  [
    'N',
    'Client devbad [127.0.0.1:56302] disconnected: not authorised.',
    { kind: 'DISCONNECTED', clientid: 'devbad', port: 56302, reason: 'not authorised' },
  ],
  [
    'N',
    'Client <unknown> disconnected due to protocol error.',
    { kind: 'DISCONNECTED', clientid: '<unknown>', port: null, reason: 'protocol error' },
  ],
  [
    'E',
    'Client dev5 already connected, closing old connection.',
    { kind: 'DISCONNECTED', clientid: 'dev5', port: null, reason: 'session taken over' },
  ],
  [
    'N',
    'Bad socket read/write on client dev: 5: Invalid function arguments provided.',
    { kind: 'DISCONNECTED', clientid: 'dev: 5', port: null, reason: 'Invalid function arguments provided' },
  ],
  ['N', 'Expiring client dev 5 due to timeout.', { kind: 'EXPIRED', clientid: 'dev 5' }],
  ['M/subscribe', 'dev311 1 ok/a', { kind: 'SUBSCRIBED', clientid: 'dev311', qos: 1, filter: 'ok/a' }],
  ['M/subscribe', 'dev 2 1 x', { kind: 'SUBSCRIBED', clientid: 'dev 2', qos: 1, filter: 'x' }],
  ['M/subscribe', 'dev 1 a 2 x 0 y', { kind: 'SUBSCRIBED', clientid: 'dev 1 a', qos: 2, filter: 'x 0 y' }],
  ['M/unsubscribe', 'dev311 ok/a', { kind: 'UNSUBSCRIBED', clientid: 'dev311', filter: 'ok/a' }],
  ['M/unsubscribe', 'dev 1 a b c', { kind: 'UNSUBSCRIBED', clientid: 'dev 1 a', filter: 'b c' }],
])('%s "%s" is understood, with and without a timestamp', (level, line, expected) => {
  const isKnown = known('dev 1 a', 'dev 2');
  expect(parseLogLine(level, line, isKnown)).toMatchObject({ at: null, ...expected });
  expect(parseLogLine(level, `1700000000: ${line}`, isKnown)).toMatchObject({ at, ...expected });
  expect(parseLogLine(level, `2023-11-14T22:13:20: ${line}`, isKnown)).toMatchObject({ at: null, ...expected });
});

test('a client id that ends like an address is read whole in lines without an address', () => {
  const line = 'Client plant [10.0.0.1:1883] disconnected.';
  const ended = { kind: 'DISCONNECTED', at: null };
  expect(parseLogLine('N', line, known('plant [10.0.0.1:1883]'))).toMatchObject({
    ...ended,
    clientid: 'plant [10.0.0.1:1883]',
    port: null,
  });
  expect(parseLogLine('N', line, known('plant'))).toMatchObject({ ...ended, clientid: 'plant', port: 1883 });
});

test.each([
  ['N', 'Client from 127.0.0.1:34720 appears to be using TLS to connect to a non-TLS listener.', 'CAUSE'],
  ['I', 'Protocol error from 127.0.0.1:34732: First packet not CONNECT (47).', 'CAUSE'],
  ['I', 'dynsec: gw-admin/admin | modifyClient | username=k1', 'OTHER'],
  ['I', 'Broker: gw-admin/admin | listListeners', 'OTHER'],
  ['I', 'Broker: gw-admin/admin | listPlugins', 'OTHER'],
  ['I', 'Broker: gw-admin/admin | stopListeners', 'UNREAD'],
  ['I', 'mosquitto version 2.0.11 running', 'STARTED'],
  ['N', 'Outgoing messages are being dropped for client X.', 'OTHER'],
  ['N', 'New client connected from 127.0.0.1:57604 as cut off in the midd', 'UNREAD'],
  ['N', 'Client X has left.', 'UNREAD'],
])('the line %s "%s" is about no client', (level, line, kind) => {
  expect(parseLogLine(level, line, known())).toMatchObject({ kind });
});

test('the reading of a disconnect line with a known client id is chosen', () => {
  const id = 'gateway-7 [10.0.0.1:1883]';
  const end = (line: string, ...ids: string[]) => parseLogLine('N', `Client ${line}`, known(...ids));
  expect(end(`${id} disconnected.`, id)).toMatchObject({ clientid: id, port: null, reason: 'disconnected' });
  expect(end(`${id} disconnected.`, 'gateway-7')).toMatchObject({ clientid: 'gateway-7', port: 1883 });
  expect(end(`${id} disconnected: exceeded timeout.`)).toMatchObject({ clientid: 'gateway-7', port: 1883 });
  const odd = 'a disconnected due to b';
  expect(end(`${odd} disconnected.`, odd)).toMatchObject({ clientid: odd, reason: 'disconnected' });
  expect(end('a disconnected due to b disconnected.', 'a')).toMatchObject({ clientid: 'a', reason: 'b disconnected' });
});

const VICTIM = 'pump-7';
const IMITATIONS = [
  ' disconnected',
  ' disconnected.',
  ' disconnected, ',
  ' disconnected: ',
  ' disconnected due to ',
  ' closed its connection.',
  ' has exceeded timeout, disconnecting.',
  ' been disconnected by administrative action.',
  ' already connected, closing old connection.',
  ' negotiated TLSv1.3 cipher ',
  ' [10.0.0.1:5]',
  ': ',
  'x',
];
/** Ids that begin like a line about the end of another client. */
const HOSTILE_ID = fc
  .array(fc.constantFrom(...IMITATIONS), { minLength: 1, maxLength: 4 })
  .map((parts) => `${VICTIM}${parts.join('')}`);

test('the end of a client whose id looks like lines is not the end of another client', () => {
  const ends = END_PATTERNS.flatMap(({ dialects, pattern, example }) => {
    const id = pattern.exec(example)?.groups?.clientid ?? '';
    return dialects.map((dialect) => ({ dialect, around: example.split(id) as [string, string] }));
  });
  fc.assert(
    fc.property(HOSTILE_ID, fc.constantFrom(...ends), fc.boolean(), (id, { dialect, around }, isListed) => {
      const line = around[0] + id + around[1];
      const isKnown = isListed ? known(VICTIM, id) : known(VICTIM);
      expect(readLine('N', line, dialect, isKnown)).toMatchObject({ kind: 'DISCONNECTED', clientid: id });
      const ofAnyVersion = readLine('N', line, null, isKnown);
      // With a port, it is also compared with that of the client.
      if (ofAnyVersion.kind === 'DISCONNECTED' && ofAnyVersion.port === null && ofAnyVersion.clientid !== id)
        expect(ofAnyVersion.ends).toBe('UNCERTAIN');
    }),
    { numRuns: 2_000 },
  );
});

test('a client whose id looks like lines has the encryption of its own connection only', () => {
  fc.assert(
    fc.property(HOSTILE_ID, (id) => {
      const line = `Client ${id} negotiated TLSv1.3 cipher TLS_AES_256_GCM_SHA384`;
      expect(readLine('N', line, '2.1.0', known(VICTIM))).toMatchObject({ kind: 'TLS', clientid: id });
    }),
  );
  const end = `Client ${VICTIM} negotiated TLSv1.3 cipher disconnected.`;
  expect(readLine('N', end, '2.1.0', known(VICTIM))).toMatchObject({ kind: 'DISCONNECTED' });
});

test('a line about a subscription that may be of several known clients changes the filters of none', () => {
  const read = (level: string, text: string, ...ids: string[]) => parseLogLine(level, text, known(...ids));
  expect(read('M/subscribe', 'a 0 b 1 c', 'a', 'a 0 b')).toMatchObject({
    clientid: 'a',
    filter: null,
    others: ['a 0 b'],
  });
  expect(read('M/unsubscribe', 'a b c', 'a', 'a b')).toMatchObject({ clientid: 'a', filter: null, others: ['a b'] });
  expect(read('M/subscribe', 'a 0 b 1 c', 'a 0 b')).toEqual({
    at: null,
    kind: 'SUBSCRIBED',
    clientid: 'a 0 b',
    qos: 1,
    filter: 'c',
  });
});

test.each([
  ['1700000000', at],
  // Not seconds since 1970.
  ['20261201', null],
  ['120510', null],
  ['2026-12-01 12:05:10', null],
  ['2026-12-01T12:05:10+0530', null],
  ['2026-12-01 12:05:10.123 +05:30', null],
  ['01/12/2026 12:05:10', null],
  ['Tue Dec  1 12:05:10 2026', null],
])('a timestamp in the format of %s is read', (stamp, time) => {
  const lines: readonly (readonly [level: string, text: string])[] = [
    ['N', 'Client dev5 disconnected.'],
    ['M/subscribe', 'dev 1 a 2 x'],
  ];
  for (const [level, text] of lines)
    expect(parseLogLine(level, `${stamp}: ${text}`, known('dev 1 a'))).toEqual({
      ...parseLogLine(level, text, known('dev 1 a')),
      at: time,
    });
});

test('any line is parsed or ignored in almost no time', () => {
  const words = fc.constantFrom(
    'New ',
    'Client ',
    'connected from ',
    ' as ',
    ' (p5, c0, k60',
    ", u'",
    "').",
    ' disconnected',
    '.',
    ' ',
    '1',
    'a',
    '127.0.0.1:1',
    ' 1 ',
    '\n',
  );
  const line = fc.oneof(
    fc.string({ maxLength: 1_000 }),
    fc.array(words, { maxLength: 200 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(line, fc.constantFrom('N', 'I', 'E', 'M/subscribe', 'M/unsubscribe', 'x'), (text, level) => {
      const from = busyMs();
      parseLogLine(level, text, known('a'));
      expect(busyMs() - from).toBeLessThan(200);
    }),
  );
});

test.each([
  ['N', `Client ${'x disconnected due to '.repeat(200_000)}`],
  ['N', `Client ${' [a:1] disconnected: '.repeat(200_000)}`],
  ['N', `New client connected from ${"a:1 as  (p5, c0, k60, u'".repeat(200_000)}`],
  ['M/subscribe', ' 0'.repeat(2_000_000)],
])('a line of megabytes, which only a hostile broker sends, does not block the service (%s)', (level, text) => {
  const from = busyMs();
  expect(parseLogLine(level, text, known('a'))).toEqual({ at: null, kind: 'UNREAD' });
  expect(busyMs() - from).toBeLessThan(200);
});

test('a truncated line reports only that a client connected, or that subscriptions changed', () => {
  const head = "1700000000: New client connected from 127.0.0.1:57604 as  (p2, c1, k60, u'name').";
  const line = (idBytes: number) => head.replace(' as ', ` as ${'é'.repeat(100)}${'x'.repeat(idBytes - 200)}`);
  expect(parseLogLine('N', line(800), known())).toMatchObject({ kind: 'CONNECTED', username: 'name' });
  // A longer line about the end of this client would be truncated.
  expect(parseLogLine('N', line(801), known())).toMatchObject({ kind: 'CONNECTED_UNREAD', port: 57604 });
  expect(parseLogLine('N', line(999 - head.length), known())).toMatchObject({ kind: 'CONNECTED_UNREAD', port: 57604 });
  expect(parseLogLine('N', `Client ${'x'.repeat(992)}`, known())).toEqual({ kind: 'TRUNCATED', at: null });
  expect(parseLogLine('N', `1700000000: New bridge connected from a:1 as ${'x'.repeat(1_000)}`, known())).toMatchObject(
    {
      kind: 'CONNECTED_UNREAD',
    },
  );
  for (const [level, kind, told] of [
    ['M/subscribe', 'SUBSCRIBED', 'dev 1 '],
    ['M/unsubscribe', 'UNSUBSCRIBED', 'dev '],
  ] as const) {
    const filter = (bytes: number) => 'a'.repeat(bytes - told.length);
    expect(parseLogLine(level, told + filter(998), known('dev'))).toMatchObject({ kind, filter: filter(998) });
    expect(parseLogLine(level, told + filter(999), known('dev'))).toMatchObject({
      kind,
      clientid: 'dev',
      filter: null,
    });
  }
});
