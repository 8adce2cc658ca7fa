import { expect, test } from 'vitest';
import { SubscriptionLog } from '../../../../src/data-plane/topic-tree/recorder/subscription-log.ts';

function startLog() {
  const subscribed: string[] = [];
  const released: string[] = [];
  const log = new SubscriptionLog({
    clientId: 'brokergraph-b1-topics-1',
    ownPrefix: 'brokergraph-b1-',
    onSubscribed: (filter, qos) => subscribed.push(`${filter} ${qos}`),
    onReleased: (filter) => released.push(filter),
  });
  const tell = (level: string, line: string) =>
    log.read(`$SYS/broker/log/${level}`, Buffer.from(`1700000000: ${line}`));
  return { log, tell, subscribed, released };
}

test('a filter is subscribed until its last client unsubscribes or disconnects', () => {
  const { log, tell, subscribed, released } = startLog();
  tell('M/subscribe', 'c1 1 a/#');
  tell('M/subscribe', 'c2 0 a/#');
  tell('M/subscribe', 'c2 0 b');
  expect(subscribed).toEqual(['a/# 1', 'a/# 0', 'b 0']);
  tell('M/unsubscribe', 'c1 a/#');
  expect(log.isSubscribed('a/#')).toBe(true);
  log.read('$SYS/broker/version', Buffer.from('mosquitto version 2.0.11'));
  tell('N', 'Client c2 closed its connection.');
  expect(log.isSubscribed('a/#')).toBe(false);
  expect(released).toEqual(['a/#', 'b']);
});

test.each([
  ['2.0.22', 'Client c1 disconnected, not authorised.'],
  // The client id of the refused connection looks like lines.
  ['2.0.22', 'Client c1 disconnected due to x disconnected, not authorised.'],
  ['2.1.0', 'Client c1 disconnected: x disconnected.'],
  // Also the end of a refused connection over WebSocket.
  ['2.0.22', 'Client c1 closed its connection.'],
  ['2.1.0', 'Client c1 disconnected, not authorised.'],
  // The line of the new connection reports whether the session is a new one.
  ['2.1.2', 'Client c1 [127.0.0.1:57604] disconnected: session taken over.'],
])('a line of Mosquitto %s that does not end the session releases no filter: %s', (version, line) => {
  const { log, tell } = startLog();
  log.read('$SYS/broker/version', Buffer.from(`mosquitto version ${version}`));
  tell('M/subscribe', 'c1 1 a');
  tell('N', line);
  expect(log.isSubscribed('a')).toBe(true);
});

test('a client with a new session has no subscriptions of the previous one', () => {
  const { log, tell } = startLog();
  tell('M/subscribe', 'c1 1 a');
  tell('N', "New client connected from 127.0.0.1:57604 as c1 (p2, c0, k60, u'k1').");
  expect(log.isSubscribed('a')).toBe(true);
  tell('N', "New client connected from 127.0.0.1:57604 as c1 (p2, c1, k60, u'k1').");
  expect(log.isSubscribed('a')).toBe(false);
});

test('own subscriptions show that the broker logs subscriptions, and are not reported', () => {
  const { log, tell, subscribed } = startLog();
  tell('M/subscribe', 'brokergraph-b1-streams 2 in/#');
  expect(log.hasOwn).toBe(false);
  tell('M/subscribe', 'brokergraph-b1-topics-1 0 #');
  expect(log.hasOwn).toBe(true);
  expect(subscribed).toEqual([]);
});

test('lines that are truncated, forged, too long or of another kind are ignored', () => {
  const { log, tell, subscribed } = startLog();
  tell('M/subscribe', `c1 0 ${'a'.repeat(1_000)}`);
  tell('M/subscribe', `c1 0 ${'a'.repeat(100_000)}`);
  tell('M/subscribe', 'c1 0 a/#/b');
  tell('M/subscribe', 'nothing of the kind');
  log.read('$SYS/broker/uptime', Buffer.from('c1 0 a'));
  expect(subscribed).toEqual([]);
});

test('after a gap no subscriptions are known', () => {
  const { log, tell, released } = startLog();
  tell('M/subscribe', 'c1 0 a');
  log.lost();
  expect([log.isSubscribed('a'), released, log.hasOwn]).toEqual([false, ['a'], false]);
});

test('the number of known subscriptions is bounded', () => {
  const { log, tell, subscribed } = startLog();
  const filterOf = (n: number) => `${n}/${'x'.repeat(900)}`;
  for (let n = 0; n < 5_000; n += 1) tell('M/subscribe', `c 0 ${filterOf(n)}`);
  expect([log.isSubscribed(filterOf(0)), log.isSubscribed(filterOf(4_999)), subscribed.length]).toEqual([
    true,
    false,
    5_000,
  ]);
});
