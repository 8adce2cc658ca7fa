import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientLedger, MAX_OFFLINE } from '../../../../src/domains/clients/inspect/client-ledger.ts';
import { ConnectionCensus } from '../../../../src/domains/clients/inspect/connection-census.ts';
import { incompleteReason } from '../../../../src/domains/clients/inspect/incomplete-list.ts';
import type { LedgerEvent } from '../../../../src/domains/clients/inspect/ledger-events.ts';
import type { LogDialect } from '../../../../src/protocol/mosquitto-log/log-dialect.ts';
import { LogReader } from '../../../../src/protocol/mosquitto-log/log-reader.ts';
import { readLine } from '../../../../src/protocol/mosquitto-log/read-line.ts';
import { runs } from '../../../support/suite.ts';

type Told = ReturnType<typeof ledgerOf>;

interface LedgerOptions {
  readonly maxSubscriptionBytes?: number;
  readonly mayHaveOthers?: () => boolean;
  readonly dialect?: LogDialect;
}

function ledgerOf({ dialect = '2.0.0', ...options }: LedgerOptions = {}) {
  const events: string[] = [];
  const onEvent = ({ kind, clientId }: LedgerEvent) => events.push(`${kind} ${clientId ?? ''}`.trim());
  const ledger = new ClientLedger({ onChange: () => undefined, onEvent, ...options });
  ledger.subscriptionsFollowed = true;
  const tell = (text: string, level = 'N') =>
    ledger.apply(
      readLine(level, text, text.includes('] disconnected') ? '2.1.1' : dialect, (id) => ledger.has(id)),
      Date.now(),
    );
  const connect = (id: string, { port = 1, clean = 1, keepalive = 60, user = 'u', version = 4 } = {}) =>
    tell(`New client connected from 10.0.0.1:${port} as ${id} (p${version}, c${clean}, k${keepalive}, u'${user}').`);
  const subscribe = (id: string, filter: string) => tell(`${id} 1 ${filter}`, 'M/subscribe');
  return { ledger, tell, connect, subscribe, events };
}

test('the subscriptions of all clients together are bounded, and an incomplete list has no number', () => {
  const { ledger, tell, connect, subscribe } = ledgerOf({ maxSubscriptionBytes: 350 });
  for (const id of ['a', 'b']) connect(id);
  for (const filter of ['1', '2']) subscribe('a', filter);
  subscribe('b', '3');
  subscribe('b', '4');
  expect(ledger.detail('a')).toMatchObject({ subscriptions: ['1', '2'], numSubscriptions: 2 });
  expect(ledger.detail('b')).toMatchObject({ subscriptions: ['3'] });
  expect(ledger.detail('b')).not.toHaveProperty('numSubscriptions');
  // Those of clients that go make room.
  tell('Client a disconnected.');
  subscribe('b', '5');
  tell('b 3', 'M/unsubscribe');
  subscribe('b', '6');
  subscribe('b', '7');
  expect(ledger.detail('b')?.subscriptions).toEqual(['5', '6', '7']);
});

test('subscriptions beyond those that are listed are counted once each', () => {
  const change = fc.record({ isSubscribe: fc.boolean(), number: fc.integer({ min: 990, max: 1_020 }) });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const { ledger, tell, connect, subscribe } = ledgerOf();
      connect('a', { clean: 0 });
      connect('a');
      const expected = new Set<string>();
      const add = (filter: string) => {
        subscribe('a', filter);
        expected.add(filter);
      };
      for (let number = 0; number < 1_005; number++) add(`f/${number}`);
      for (const { isSubscribe, number } of changes) {
        if (isSubscribe) add(`f/${number}`);
        else {
          tell(`a f/${number}`, 'M/unsubscribe');
          expected.delete(`f/${number}`);
        }
      }
      const { numSubscriptions, subscriptions = [] } = ledger.detail('a') ?? {};
      expect(numSubscriptions).toBe(expected.size);
      expect(subscriptions.length).toBeLessThanOrEqual(1_000);
      expect(subscriptions.every((filter) => expected.has(filter))).toBe(true);
      const isWhole = subscriptions.length === expected.size;
      const task = ledger.subscribers('f/0', 10, true);
      let step = task.next();
      while (!step.done) step = task.next();
      expect(step.value).toMatchObject({ totalCount: 1, complete: isWhole, subscribers: [{ filter: 'f/0' }] });
      // A new session has none.
      connect('a');
      expect(ledger.detail('a')).toMatchObject({ numSubscriptions: 0, subscriptions: [] });
    }),
    { numRuns: runs(40) },
  );
});

test.each([
  ['EARLIER', (ledger: Told) => ledger.connect('a', { clean: 0 })],
  ['TRUNCATED', (ledger: Told) => ledger.subscribe('a', 'f'.repeat(1_000))],
  ['LIMIT', (ledger: Told) => ledger.subscribe('a', 'f'.repeat(400))],
])('a number of subscriptions that is not known has the reason %s', (reason, change) => {
  const told = ledgerOf({ maxSubscriptionBytes: 40 });
  if (reason !== 'EARLIER') told.connect('a');
  change(told);
  const detail = told.ledger.detail('a');
  expect(detail).not.toHaveProperty('numSubscriptions');
  expect(detail).toMatchObject({ uncounted: reason });
});

test('offline sessions beyond the bound are dropped and counted', () => {
  const { ledger, tell, connect } = ledgerOf();
  for (let number = 0; number < MAX_OFFLINE + 2; number++) {
    connect(`c${number}`, { clean: 0 });
    tell(`Client c${number} disconnected.`);
  }
  const followed = { reader: new LogReader(), ledger, census: new ConnectionCensus() };
  expect([ledger.size, ledger.has('c0'), ledger.has('c2')]).toEqual([MAX_OFFLINE, false, true]);
  expect(incompleteReason(followed)).toMatch(/not connected.*: 2$/);
  ledger.clear();
  expect(incompleteReason(followed)).not.toMatch(/not connected/);
});

test('the use of an account follows clients that change their account', () => {
  const { ledger, tell, connect } = ledgerOf();
  ledger.addGateway('us', {
    account: null,
    protocol: 'MQTT',
    protocolVersion: 'v5',
    keepalive: 15,
    lastConnect: Date.now(),
  });
  for (const id of ['a', 'b', 'c']) connect(id, { clean: 0 });
  expect(ledger.accountOf('a')).toMatchObject({ username: 'u', connectedIds: ['a', 'b', 'c'], isOwn: false });
  tell('Client b closed its connection.');
  connect('c', { user: 'v', clean: 0 });
  expect(ledger.accountOf('a')).toMatchObject({ connectedIds: ['a'], sessionCount: 2 });
  tell('Expiring client b due to timeout.');
  expect(ledger.accountOf('a')).toMatchObject({ connectedIds: ['a'], sessionCount: 1 });
  expect(ledger.accountOf('c')).toMatchObject({ username: 'v', connectedIds: ['c'] });
  expect(ledger.accountOf('us')).toMatchObject({ username: null, isOwn: true, connectedIds: ['us'] });
  expect(ledger.accountOf('nobody')).toBeNull();
  connect("x (p5, c0, k60, u'admin').");
  expect(ledger.accountOf("x (p5, c0, k60, u'admin').")).toMatchObject({ isAmbiguous: true });
});

test('a replaced connection ends once, in the wording and order of either version', () => {
  const { ledger, tell, connect } = ledgerOf();
  // 2.0: an error beforehand.
  connect('a', { port: 1 });
  tell('Client a already connected, closing old connection.', 'E');
  connect('a', { port: 2 });
  expect(ledger.detail('a')).toMatchObject({ connected: true, remotePort: 2 });
  // 2.1: with the port of the old one, before or afterwards.
  connect('a', { port: 3 });
  tell('Client a [10.0.0.1:2] disconnected: session taken over.');
  expect(ledger.detail('a')).toMatchObject({ connected: true, remotePort: 3 });
  tell('Client a [10.0.0.1:3] disconnected: session taken over.');
  connect('a', { port: 4 });
  expect(ledger.detail('a')).toMatchObject({ connected: true, remotePort: 4 });
  tell('Client a [10.0.0.1:4] disconnected: administrative action.');
  expect(ledger.has('a')).toBe(false);
});

test.each([
  [4, 4],
  [4, 5],
  [5, 4],
  [5, 5],
])('a replaced clean session of version %i leaves no known subscriptions to version %i', (first, next) => {
  const { ledger, connect, subscribe } = ledgerOf();
  connect('a', { version: first });
  subscribe('a', 'x');
  connect('a', { version: next, clean: 0 });
  expect(ledger.detail('a')).toMatchObject({ subscriptions: [] });
  // Whether an MQTT 5 session with Clean Start persists depends on its expiry, which is not in the log.
  expect(ledger.detail('a')?.numSubscriptions).toBe(first === 5 ? undefined : 0);
});

test('the end of an unlogged connection reduces the number of unknown ones, unless it was refused', () => {
  const { tell, connect } = ledgerOf();
  // Perhaps a stored session was dropped.
  expect(tell('Client stranger disconnected.')).toBe(0);
  expect(tell('Client stranger been disconnected by administrative action.')).toBe(-1);
  expect(tell('Client stranger already connected, closing old connection.', 'E')).toBe(-1);
  expect(tell('Client <unknown> disconnected, not authorised.')).toBe(0);
  expect(tell('Client <unknown> disconnected due to protocol error.')).toBe(0);
  expect(tell('Client <unknown> closed its connection.')).toBe(0);
  connect('a');
  expect(tell('Client a disconnected.')).toBe(0);
});

test('the end of a client from before the log is an event if the line is certain, and a gap if it is not', () => {
  const { tell, connect, events } = ledgerOf();
  tell('Client one disconnected.');
  tell('Client two closed its connection.');
  tell('Client three already connected, closing old connection.', 'E');
  connect('three');
  tell('Client <unknown> closed its connection.');
  expect(events.splice(0)).toEqual(['DISCONNECTED one', 'DISCONNECTED two', 'TAKEN_OVER three', 'CONNECTED three']);
  // Perhaps stored sessions.
  tell('Reloading config.', 'I');
  tell('Client four disconnected.');
  connect('five');
  tell('Client six disconnected.');
  expect(events).toEqual(['GAP', 'CONNECTED five', 'DISCONNECTED six']);

  // Perhaps a refused connection, or a session that is resumed.
  const newer = ledgerOf({ dialect: '2.0.13' });
  newer.tell('Client one closed its connection.');
  newer.tell('Client two [10.0.0.1:1] disconnected: session taken over.');
  expect(newer.events).toEqual(['GAP', 'GAP']);
  const complete = ledgerOf({ dialect: '2.0.13', mayHaveOthers: () => false });
  complete.tell('Client one closed its connection.');
  expect(complete.events).toEqual([]);
});

test('Mosquitto 2.1 names the port of the last connection of a session that is resumed, which had ended before', () => {
  const { tell, connect, events } = ledgerOf();
  // The broker stores sessions of clients that request none, for as long as their session expiry says.
  connect('listed', { port: 7 });
  tell('Client listed [10.0.0.1:7] disconnected.');
  tell('Client other [10.0.0.1:8] disconnected.');
  expect(events.splice(0)).toEqual(['CONNECTED listed', 'DISCONNECTED listed', 'DISCONNECTED other']);
  tell('Client listed [10.0.0.1:7] disconnected: session taken over.');
  tell('Client other [10.0.0.1:8] disconnected: session taken over.');
  expect(events).toEqual([]);
  tell('Client other [10.0.0.1:9] disconnected: session taken over.');
  expect(events).toEqual(['GAP']);
});

test('the late end of a WebSocket that a client from before the log had is not the end of its next connection', () => {
  const { ledger, tell, events } = ledgerOf();
  ledger.version = 'mosquitto version 2.0.11';
  tell('Client a already connected, closing old connection.', 'E');
  tell("New client connected from ::ffff:10.0.0.1:2 as a (p2, c1, k60, u'u').");
  tell('Client a closed its connection.');
  expect(events).toEqual(['TAKEN_OVER a', 'CONNECTED a']);
  tell('Client a closed its connection.');
  expect(events.at(-1)).toBe('DISCONNECTED a');
});

test.each([
  ['2.0', 'Client a already connected, closing old connection.', 'Client a disconnected.'],
  ['2.1', 'Client a [10.0.0.1:1] disconnected: session taken over.', 'Client a [10.0.0.1:2] disconnected.'],
])('while we have the session of a client it is offline, and remains what it was (%s)', (_version, taken, ended) => {
  for (const isTakenFirst of [true, false]) {
    const { ledger, tell, connect, subscribe } = ledgerOf();
    connect('a', { clean: 0 });
    const { connection = 0 } = ledger.accountOf('a') ?? {};
    ledger.takeovers.begin('a');
    expect(ledger.hasEnded('a', connection)).toBe(false);
    if (isTakenFirst) tell(taken, 'E');
    connect('a', { port: 2, clean: 0, keepalive: 29, user: 'us' });
    if (!isTakenFirst && taken.includes('[')) tell(taken);
    subscribe('a', 'new');
    expect(ledger.detail('a')).toMatchObject({
      connected: false,
      username: 'u',
      keepalive: 60,
      subscriptions: ['new'],
    });
    // Ours is a connection that is known.
    expect(ledger.connectedCount).toBe(1);
    expect(ledger.hasEnded('a', connection)).toBe(false);
    expect(tell(ended)).toBe(0);
    expect(ledger.hasEnded('a', connection)).toBe(true);
    expect(ledger.connectedCount).toBe(0);
    connect('a', { port: 3, clean: 0 });
    expect(ledger.detail('a')).toMatchObject({ connected: true, username: 'u', subscriptions: ['new'] });

    // The client comes back while we still have it.
    ledger.takeovers.begin('a');
    connect('a', { port: 4, clean: 0, keepalive: 29, user: 'us' });
    connect('a', { port: 5, clean: 0 });
    tell('Client a [10.0.0.1:4] disconnected: session taken over.');
    expect(ledger.detail('a')).toMatchObject({ connected: true, username: 'u', remotePort: 5 });
    // We did not get it.
    ledger.takeovers.begin('a');
    ledger.takeovers.cancel('a');
    connect('a', { port: 6, clean: 0, keepalive: 29 });
    expect(ledger.detail('a')).toMatchObject({ connected: true, remotePort: 6 });
  }
});

test('bridges of other brokers are listed as clients and marked as bridges', () => {
  const { ledger, tell } = ledgerOf();
  tell('New bridge connected from 10.0.0.9:4 as far.b1 (p2, c0, k60).');
  expect(ledger.detail('far.b1')).toMatchObject({ bridge: true, connected: true, protocolVersion: 'v3.1.1' });
  tell("New bridge connected from 10.0.0.9:5 as far.b2 (p4, c0, k60, u'b').");
  tell('Client far.b2 [10.0.0.9:5] disconnected: connection closed by client.');
  expect(ledger.detail('far.b2')).toMatchObject({ bridge: true, connected: false, username: 'b' });
  tell('Bad socket read/write on client far.b1: Invalid function arguments provided.');
  expect(ledger.detail('far.b1')).toMatchObject({ connected: false });
});

test('a client with an unreadable line counts as unknown, and truncated subscriptions leave a list without a number', () => {
  const { ledger, connect, subscribe } = ledgerOf();
  expect(connect('a')).toBe(0);
  expect(connect('x'.repeat(1_000))).toBe(1);
  subscribe('a', 'read');
  expect(ledger.detail('a')).toMatchObject({ numSubscriptions: 1 });
  subscribe('a', 'f'.repeat(1_000));
  expect(ledger.detail('a')).toMatchObject({ subscriptions: ['read'] });
  expect(ledger.detail('a')).not.toHaveProperty('numSubscriptions');
  const full = new ClientLedger({ onChange: () => undefined, maxClients: 0 });
  const line = readLine('N', 'New client connected from 10.0.0.1:1 as b (p4, c1, k60).', null, () => false);
  expect(full.apply(line, Date.now())).toBe(1);
});

test('clients that an administrator disconnected are listed by account and since a number', () => {
  const { ledger, tell, connect } = ledgerOf();
  for (const id of ['a', 'b', 'c']) connect(id, { user: id === 'c' ? 'other' : 'u' });
  tell('Client a been disconnected by administrative action.');
  const kickCount = ledger.kicks.count;
  for (const id of ['b', 'c']) tell(`Client ${id} been disconnected by administrative action.`);
  connect('a');
  tell('Client a disconnected.');
  expect(ledger.kicks.after(kickCount, 'u')).toEqual(['b']);
  expect(ledger.kicks.after(0, 'u')).toEqual(['a', 'b']);
  expect(ledger.kicks.after(0, null)).toEqual([]);
});

test.each([
  ['2.0.13', 'Client pump-7 disconnected due to x disconnected, not authorised.'],
  ['2.0.13', 'Client pump-7 disconnected: x closed its connection.'],
  ['2.0.0', 'Client pump-7 disconnected: x disconnected.'],
  ['2.1.0', 'Client pump-7 closed its connection. disconnected, bad username or password.'],
] as const)('a client id that looks like lines ends no other client (%s, %s)', (dialect, line) => {
  const { ledger, tell, connect, subscribe, events } = ledgerOf({ dialect, mayHaveOthers: () => false });
  connect('pump-7');
  subscribe('pump-7', 'a');
  tell(line);
  expect(ledger.summary('pump-7')).toMatchObject({ connected: true });
  expect(events).toEqual(['CONNECTED pump-7']);
});

test('a client that subscribes is connected, whatever its log said before', () => {
  const { ledger, tell, connect, subscribe } = ledgerOf();
  connect('a', { clean: 0 });
  tell('Client a disconnected.');
  expect(ledger.summary('a')).toMatchObject({ connected: false });
  subscribe('a', 'x');
  expect(ledger.summary('a')).toMatchObject({ connected: true });
  expect(ledger.connectedCount).toBe(1);
});

test('a subscription that may be of two clients leaves the number of both unknown', () => {
  const { ledger, connect, subscribe } = ledgerOf();
  for (const id of ['a', 'a 1 b']) connect(id);
  subscribe('a', 'x');
  subscribe('a 1 b', 'c');
  expect(ledger.detail('a')).toMatchObject({ subscriptions: ['x'], uncounted: 'TRUNCATED' });
  expect(ledger.detail('a 1 b')).toMatchObject({ subscriptions: [], uncounted: 'TRUNCATED' });
});

test.each([
  ['2.0.13', true],
  ['2.1.0', false],
] as const)('a replaced WebSocket of %s that ends after the new connection: %s', (dialect, isLate) => {
  const { ledger, tell, connect } = ledgerOf({ dialect });
  ledger.version = dialect === '2.1.0' ? 'mosquitto version 2.1.0' : 'mosquitto version 2.0.22';
  ledger.listeners = new Map([[9001, { protocol: 'MQTT-WS', port: 9001 }]]) as never;
  tell('New connection from 10.0.0.1:1 on port 9001.');
  connect('a');
  tell(isLate ? 'Client a already connected, closing old connection.' : 'Client a disconnected, session taken over.');
  tell('New connection from 10.0.0.1:2 on port 9001.');
  connect('a', { port: 2 });
  tell('Client a closed its connection.');
  expect(ledger.summary('a')?.connected ?? false).toBe(isLate);
});
