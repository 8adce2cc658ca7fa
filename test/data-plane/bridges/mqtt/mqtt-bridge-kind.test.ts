import { expect, test } from 'vitest';
import type { MqttBridgeConfig, TopicRule } from '../../../../src/data-plane/bridges/mqtt/mqtt-bridge-config.ts';
import { mqttBridgeKind } from '../../../../src/data-plane/bridges/mqtt/mqtt-bridge-kind.ts';
import { compileCheck, createValidator } from '../../../../src/platform/text/json-schema.ts';
import { createAuthority } from '../../../support/certificates.ts';

const RULE: TopicRule = { pattern: '#', direction: 'out' };
const CONNECTION = { name: 'one', url: 'mqtt://example.com', topics: [RULE] };
const issuesOf = (config: MqttBridgeConfig, allowedHosts: readonly string[] = []) =>
  mqttBridgeKind.check(config, { allowedHosts }).map(({ path, reason }) => `${path}: ${reason}`);
const issuesOfRules = (...topics: TopicRule[]) => issuesOf({ connections: [{ ...CONNECTION, topics }] });

test('the schema takes what the bridge can do, and names what it cannot', () => {
  const check = compileCheck(createValidator(), mqttBridgeKind.schema);
  check(mqttBridgeKind.empty);
  check({ connections: [CONNECTION] });
  check({
    connections: [
      {
        ...CONNECTION,
        active: false,
        username: 'u',
        password: 'p',
        clientId: 'c',
        keepalive: 30,
        verifyCa: false,
        topics: [{ pattern: 'a/+', direction: 'both', qos: 2, localPrefix: 'x/', remotePrefix: 'y/', retain: false }],
        queue: { maxMessages: 10, maxBytes: 100_000 },
      },
    ],
  });
  for (const wrong of [
    {},
    { connections: [{ ...CONNECTION, topics: [] }] },
    { connections: [{ ...CONNECTION, topics: [{ ...RULE, qos: 3 }] }] },
    { connections: [{ ...CONNECTION, topics: [{ ...RULE, direction: 'sideways' }] }] },
    { connections: [{ ...CONNECTION, unknown: 1 }] },
    { connections: [{ ...CONNECTION, queue: { maxMessages: 0 } }] },
  ])
    expect(() => check(wrong)).toThrow();
});

test('every property is described, and secrets are marked', () => {
  const secrets: string[] = [];
  const walk = (schema: Record<string, unknown>, name: string): void => {
    expect(schema.description, name).toEqual(expect.any(String));
    if (schema.writeOnly === true) secrets.push(name);
    for (const [key, inner] of Object.entries(schema.properties ?? {})) walk(inner, key);
    if (schema.items) walk(schema.items as Record<string, unknown>, `${name}[]`);
  };
  walk(mqttBridgeKind.schema, 'schema');
  expect(secrets.sort()).toEqual(['key', 'password']);
});

test('names and client ids must differ', () => {
  expect(issuesOf({ connections: [CONNECTION, { ...CONNECTION, name: 'two' }] })).toEqual([]);
  expect(issuesOf({ connections: [CONNECTION, CONNECTION] })).toEqual([
    '/connections/1/name: is the name of another connection',
  ]);
  const named = { ...CONNECTION, clientId: 'c' };
  expect(issuesOf({ connections: [named, { ...named, name: 'two' }] })).toEqual([
    expect.stringMatching(/^\/connections\/1\/clientId: /),
  ]);
  expect(issuesOf({ connections: [named, { ...named, name: 'two', url: 'mqtt://other' }] })).toEqual([]);
});

test.each([
  ['http://example.com', [], 'scheme'],
  ['nonsense', [], 'scheme'],
  ['mqtt://user:secret@example.com', [], 'credentials'],
  ['mqtt://example.com', ['other.example'], 'not an allowed host'],
])('the address %s is refused', (url, allowedHosts, reason) => {
  const issues = issuesOf({ connections: [{ ...CONNECTION, url }] }, allowedHosts);
  expect(issues).toEqual([expect.stringContaining(reason)]);
  expect(issues[0]).toMatch(/^\/connections\/0\/url: /);
  expect(issues[0]).not.toContain('secret');
});

test.each(['mqtt://example.com', 'mqtts://example.com:1', 'ws://example.com/mqtt', 'wss://[::1]/x'])(
  'the address %s is taken',
  (url) => {
    expect(issuesOf({ connections: [{ ...CONNECTION, url }] })).toEqual([]);
  },
);

test('a client certificate and its key belong together', () => {
  const authority = createAuthority();
  const [one, other] = [authority.issue({ name: 'one' }), authority.issue({ name: 'other' })];
  const withTls = (tls: object) => issuesOf({ connections: [{ ...CONNECTION, ...tls }] });
  expect(withTls({ ca: one.cert, cert: one.cert, key: one.key })).toEqual([]);
  expect(withTls({ cert: one.cert, key: other.key })).toEqual([
    '/connections/0/key: does not belong to the client certificate',
  ]);
  expect(withTls({ cert: one.cert })).toEqual([expect.stringContaining('/connections/0/cert')]);
  const notPem = 'is not PEM: there is no line -----BEGIN CERTIFICATE-----';
  expect(withTls({ ca: 'no PEM' })).toEqual([`/connections/0/ca: ${notPem}`]);
  expect(withTls({ ca: one.cert + other.key })).toEqual([
    expect.stringContaining('/connections/0/ca: contains a PRIV'),
  ]);
  const large = createAuthority({ key: 'rsa-8256' });
  expect(withTls({ ca: large.leaf, cert: large.leaf, key: large.key })).toEqual(
    ['ca', 'cert', 'key'].map((name) =>
      expect.stringMatching(new RegExp(`^/connections/0/${name}: .*has a key of 8\\d+ bits: at most 8192`)),
    ),
  );
  expect(withTls({ cert: one.cert, key: 'no PEM' })).toEqual([expect.stringContaining('/connections/0/key')]);
});

test.each<[string, TopicRule]>([
  ['a misplaced wildcard', { pattern: 'a/#/b', direction: 'out' }],
  ['a wildcard that a prefix misplaces', { pattern: '#', direction: 'out', remotePrefix: 'a' }],
  ['a wildcard in a prefix', { pattern: 'a', direction: 'in', localPrefix: '+/' }],
  ['an empty pattern with one prefix', { pattern: '', direction: 'in', localPrefix: 'a' }],
  ['topics of control out', { pattern: '$CONTROL/#', direction: 'out', remotePrefix: 'a/' }],
  ['topics of the broker out', { pattern: '$SYS/#', direction: 'out', remotePrefix: 'a/' }],
  ['topics of control in', { pattern: '$CONTROL/#', direction: 'in', localPrefix: 'a/' }],
  ['both ways of what a broker reports', { pattern: '$SYS/#', direction: 'both', localPrefix: 'x/' }],
  ['messages to what a broker reports', { pattern: '#', direction: 'out', remotePrefix: '$SYS/' }],
  ['messages to a shared subscription', { pattern: 'a', direction: 'out', remotePrefix: '$share/g/' }],
  ['messages to topics of control', { pattern: '#', direction: 'in', localPrefix: '$CONTROL/' }],
  ['a shared subscription', { pattern: '$share/g/a', direction: 'out', remotePrefix: 'a/' }],
])('%s is refused', (_, rule) => {
  expect(issuesOfRules(rule)).toEqual([expect.stringMatching(/^\/connections\/0\/topics\/0\//)]);
});

test.each<[string, TopicRule]>([
  ['both ways on the same topics', { pattern: '#', direction: 'both' }],
  ['an empty pattern with both prefixes', { pattern: '', direction: 'both', localPrefix: 'a', remotePrefix: 'b' }],
  ['what a broker tells of itself', { pattern: '$SYS/#', direction: 'in', localPrefix: 'there/' }],
  ['shadows of AWS both ways', { pattern: '$aws/things/+/shadow/#', direction: 'both' }],
  ['topics with $ by a prefix', { pattern: 'things/#', direction: 'both', remotePrefix: '$aws/' }],
  ['a name that only begins like a reserved one', { pattern: '$shared/#', direction: 'out' }],
  ['a prefix that ends within a level', { pattern: 'a', direction: 'out', remotePrefix: 'x' }],
])('%s is taken', (_, rule) => {
  expect(issuesOfRules(rule)).toEqual([]);
});

test('rules of one direction must not match the same topics, unless they lead one filter to several topics', () => {
  const overlaps = expect.stringContaining('/connections/0/topics/1/pattern: matches topics that topics/0 matches');
  expect(issuesOfRules(RULE, { pattern: 'a', direction: 'both' })).toEqual([overlaps]);
  expect(issuesOfRules(RULE, RULE)).toEqual([overlaps]);
  expect(issuesOfRules(RULE, { ...RULE, remotePrefix: 'copy/' })).toEqual([]);
  expect(issuesOfRules(RULE, { pattern: 'a', direction: 'in' })).toEqual([]);
  expect(issuesOfRules({ pattern: 'a/+/c', direction: 'out' }, { pattern: 'a/b/+', direction: 'out' })).toEqual([
    overlaps,
  ]);
  expect(issuesOfRules({ pattern: 'a/+', direction: 'out' }, { pattern: 'a/b/+', direction: 'out' })).toEqual([]);
});

test('as many rules as there may be, of as many levels as fit into a configuration, are compared at once', () => {
  const rules = Array.from({ length: 1_000 }, (_, index) => ({
    pattern: `${'+/'.repeat(450)}${index}`,
    direction: 'out' as const,
  }));
  expect(issuesOfRules(...rules.slice(1), { pattern: '+/#', direction: 'out' })).toHaveLength(1);
});
