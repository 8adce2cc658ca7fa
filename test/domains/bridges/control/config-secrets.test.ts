import { describe, expect, test } from 'vitest';
import {
  isTooDeep,
  masked as maskedSteps,
  unmasked as unmaskedSteps,
} from '../../../../src/domains/bridges/control/config-secrets.ts';
import { SecretPlace } from '../../../../src/domains/bridges/control/secret-places.ts';
import { maskText } from '../../../../src/domains/bridges/control/secret-text.ts';
import { runSync } from '../../../../src/platform/scheduling/sliced-task.ts';
import { busyMs } from '../../../support/busy-time.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    connections: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          url: { type: 'string' },
          password: { type: 'string', writeOnly: true },
          headers: { type: 'object', writeOnly: true },
          login: { $ref: '#/$defs/login' },
        },
      },
    },
  },
  $defs: { login: { allOf: [{ properties: { pin: { type: 'string', format: 'password' } } }] } },
};
const BY_SCHEMA = SecretPlace.whole(SCHEMA, { byName: false });
const BY_NAME = SecretPlace.whole(null, { byName: true });

const masked = (...args: Parameters<typeof maskedSteps>) => runSync(maskedSteps(...args));
const unmasked = (...args: Parameters<typeof unmaskedSteps>) => runSync(unmaskedSteps(...args));

const stepsOf = (task: Iterable<void>) => Array.from(task).length;

const KEPT = {
  connections: [
    { name: 'a', url: 'mqtt://one:1883', password: 'first secret', headers: { 'X-Key': 'abc', Other: 'def' } },
    { name: 'b', url: 'mqtt://two:1883', password: 'second secret', login: { user: 'me', pin: '1234' } },
  ],
};

test('what the schema marks is masked, however deep, and nothing else', () => {
  expect(masked(KEPT, BY_SCHEMA)).toEqual({
    connections: [
      { name: 'a', url: 'mqtt://one:1883', password: '***', headers: { 'X-Key': '***', Other: '***' } },
      { name: 'b', url: 'mqtt://two:1883', password: '***', login: { user: 'me', pin: '***' } },
    ],
  });
});

test('a large configuration is gone through in small steps, so that others are served in between', () => {
  const connections = Array.from({ length: 10_000 }, (_, name) => ({ name, password: '***' }));
  expect(stepsOf(unmaskedSteps({ connections }, KEPT, BY_SCHEMA))).toBeGreaterThanOrEqual(connections.length);
  expect(stepsOf(maskedSteps({ connections }, BY_SCHEMA))).toBeGreaterThanOrEqual(connections.length);
});

test('masks sent back keep each its own secret, whatever the order of the list', () => {
  const { connections } = masked(KEPT, BY_SCHEMA) as typeof KEPT;
  const { config, issues } = unmasked({ connections: [...connections].reverse() }, KEPT, BY_SCHEMA);
  expect(issues).toEqual([]);
  expect(config).toEqual({ connections: [...KEPT.connections].reverse() });
});

test('each mask restores its own secret also where several entries of a list have the same name', () => {
  const kept = { connections: ['one', 'two'].map((password) => ({ name: 'a', url: 'mqtt://one:1883', password })) };
  expect(unmasked(masked(kept, BY_SCHEMA), kept, BY_SCHEMA)).toEqual({ config: kept, issues: [] });
});

const deep = (depth: number): object =>
  depth === 0 ? Object.fromEntries(Array(2_000).fill('***').entries()) : { key: '***', next: deep(depth - 1) };

test.each([
  ['in one object', Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`${index}token`, '***']))],
  ['in lists', Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`${index}tokens`, ['***']]))],
  ['deep inside', { token: deep(40) }],
])('thousands of secrets that are restored %s take no longer than the configuration is long', (_what, given) => {
  const kept = { ...JSON.parse(JSON.stringify(given).replaceAll('***', 'kept')), host: 'one' };
  const begun = busyMs();
  expect(unmasked({ ...given, host: 'one' }, kept, BY_NAME)).toEqual({ config: kept, issues: [] });
  expect(unmasked({ ...given, host: 'two' }, kept, BY_NAME).issues.length).toBeGreaterThanOrEqual(2_000);
  expect(busyMs() - begun).toBeLessThan(2_000);
});

test('a mask that stands for nothing is an issue at its place: a new entry, another name, a secret that was none', () => {
  const given = {
    connections: [
      { name: 'c', url: 'mqtt://one:1883', password: '***' },
      { name: 'b', url: 'mqtt://two:1883', headers: { Authorization: '***' } },
    ],
  };
  expect(unmasked(given, KEPT, BY_SCHEMA).issues.map(({ path }) => path)).toEqual([
    '/connections/0/password',
    '/connections/1/headers/Authorization',
  ]);
});

test('a mask is only a text where no secret is', () => {
  const { config, issues } = unmasked({ connections: [{ name: '***', url: '***' }] }, KEPT, BY_SCHEMA);
  expect([config, issues]).toEqual([{ connections: [{ name: '***', url: '***' }] }, []]);
});

describe('a secret that is kept goes to no other host', () => {
  const withUrl = (url: string) => ({ connections: [{ ...KEPT.connections[0], url, password: '***', headers: {} }] });

  test.each([
    'mqtt://three:1883',
    'mqtt://one:1884',
    'mqtts://one:1883',
    'mqtt://one.example:1883',
    // Browsers, and what works as they do, take it for a slash.
    'mqtt://three\\@one:1883',
    'mqtt://three:0001883/@one:1883',
    'mqtt://one:1883?host=three',
    'mqtt://one:1883,mqtt://three',
    ' mqtt://three@one:1883',
  ])('%s is refused', (url) => {
    expect(unmasked(withUrl(url), KEPT, BY_SCHEMA).issues).toEqual([
      { path: '/connections/0/password', reason: expect.stringContaining('because the host') },
    ]);
  });

  test.each(['mqtt://one:1883/path', 'MQTT://ONE:1883', 'mqtt://user@one:1883'])('%s is the same host', (url) => {
    expect(unmasked(withUrl(url), KEPT, BY_SCHEMA).issues).toEqual([]);
  });

  test.each([
    'https://hooks/attacker',
    'https://hooks/Tenant-a',
    'https://hooks/tenant-a/',
    'https://hooks/tenant-a?x=1',
  ])('nor to another path of a web address: %s', (url) => {
    const kept = { url: 'https://hooks/tenant-a', headers: { Authorization: 'a secret' } };
    const given = { url, headers: { Authorization: '***' } };
    expect(unmasked(given, kept, BY_NAME).issues).toEqual([
      { path: '/headers/Authorization', reason: expect.stringContaining('the path of the web address') },
    ]);
    expect(unmasked({ ...given, url: 'HTTPS://u@Hooks/tenant-a' }, kept, BY_NAME).issues).toEqual([]);
  });

  test.each([{ verifyCa: false }, { tls: false }, { ca: 'PEM of another authority' }])(
    'nor with %o to another receiver',
    (change) => {
      const kept = { host: 'one', password: 'a secret', tls: true, ca: 'PEM' };
      expect(unmasked({ ...kept, password: '***' }, kept, BY_NAME).issues).toEqual([]);
      expect(unmasked({ ...kept, password: '***', ...change }, kept, BY_NAME).issues).toHaveLength(1);
    },
  );

  test('also if the host is in the same object or in an outer one', () => {
    const kept = { server: { hostname: 'one' }, credentials: { username: 'u', password: 'a secret' } };
    const given = (hostname: string) => ({ server: { hostname }, credentials: { username: 'u', password: '***' } });
    expect(unmasked(given('one'), kept, BY_NAME).issues).toEqual([]);
    expect(unmasked(given('two'), kept, BY_NAME).issues).toHaveLength(1);
    expect(unmasked({ ...given('one'), port: 1 }, kept, BY_NAME).issues).toHaveLength(1);
  });

  test('also where the hosts are a list', () => {
    const kept = { brokers: [{ host: 'one' }, { host: 'two' }], seeds: ['one:9092'], sasl: { password: 'a secret' } };
    const given = { ...kept, sasl: { password: '***' } };
    expect(unmasked(given, kept, BY_NAME).issues).toEqual([]);
    expect(unmasked({ ...given, brokers: [{ host: 'three' }] }, kept, BY_NAME).issues).toHaveLength(1);
  });

  test('also where the host is within what is kept', () => {
    const kept = { urls: 'mqtt://u:s1@one,mqtt://u:s2@two', sink: 'https://one', apiKeys: ['k1', 'k2'] };
    const told = masked(kept, BY_NAME) as typeof kept;
    expect(unmasked(told, kept, BY_NAME)).toEqual({ config: kept, issues: [] });
    expect(unmasked({ ...told, urls: told.urls.replace('two', 'three') }, kept, BY_NAME).issues.length).toBeGreaterThan(
      0,
    );
    expect(unmasked({ ...told, sink: 'https://two' }, kept, BY_NAME).issues.length).toBeGreaterThan(0);
    expect(told).toEqual({ urls: 'mqtt://u:***@one,mqtt://u:***@two', sink: 'https://one', apiKeys: ['***', '***'] });
  });

  test('but a host of another entry of a list is no matter', () => {
    const { connections } = masked(KEPT, BY_SCHEMA) as typeof KEPT;
    const given = { connections: [connections[0], { name: 'c', url: 'mqtt://three' }] };
    expect(unmasked(given, KEPT, BY_SCHEMA).issues).toEqual([]);
  });
});

test('secrets are found by their names if the schema does not mark them', () => {
  const config = {
    auth: { sas: { key: 'k', keyName: 'root' }, clientSecret: 's', api_key: 'a', accessToken: 't', PASSWORD: 'p' },
    credentials: { username: 'u', password: 'p' },
    pin: 1,
    secretNumber: 'open',
    token: 12,
    partitionKey: 'open',
    tokenUrl: 'https://open.example',
    empty: { password: '', secret: null, token: true },
  };
  expect(masked(config, BY_NAME)).toEqual({
    ...config,
    auth: {
      sas: { key: '***', keyName: 'root' },
      clientSecret: '***',
      api_key: '***',
      accessToken: '***',
      PASSWORD: '***',
    },
    credentials: { username: 'u', password: '***' },
    token: '***',
  });
});

test.each([
  ['mongodb://user:pa$$@one:27017,two:27017/db', 'mongodb://user:***@one:27017,two:27017/db'],
  ['postgresql://u:p/w@host/db', 'postgresql://u:***@host/db'],
  ['mqtt://host:1883/a@b', 'mqtt://host:1883/a@b'],
  ['http://[::1]:80/a@b', 'http://[::1]:80/a@b'],
  ['mqtt://user@host', 'mqtt://user@host'],
  ['https://h/x?user=u&token=abc&y=1', 'https://h/x?user=u&token=***&y=1'],
  [
    'Endpoint=sb://ns/;SharedAccessKeyName=n;SharedAccessKey=a+b/c=',
    'Endpoint=sb://ns/;SharedAccessKeyName=n;SharedAccessKey=***',
  ],
  ["host=h user=u password='a b' dbname=d", 'host=h user=u password=*** dbname=d'],
  ['jdbc:postgresql://h/db?user=u&password=p', 'jdbc:postgresql://h/db?user=u&password=***'],
  ['-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----', '***'],
  [
    '-----BEGIN CERTIFICATE-----\nabckey=\n-----END CERTIFICATE-----',
    '-----BEGIN CERTIFICATE-----\nabckey=\n-----END CERTIFICATE-----',
  ],
])('within %s the credentials are masked, and nothing else', (text, told) => {
  expect(maskText(text)).toBe(told);
  const { config, issues } = unmasked(
    { connectionURI: told },
    { connectionURI: text },
    SecretPlace.whole({}, { byName: false }),
  );
  expect([config, issues]).toEqual([{ connectionURI: text }, []]);
});

test('credentials within a URL are kept where the rest of it changes, but not for another host', () => {
  const kept = { url: 'mongodb://u:secret@one/db' };
  expect(unmasked({ url: 'mongodb://u:***@one/other' }, kept, BY_SCHEMA)).toEqual({
    config: { url: 'mongodb://u:secret@one/other' },
    issues: [],
  });
  expect(unmasked({ url: 'mongodb://u:***@two/db' }, kept, BY_SCHEMA).issues).toHaveLength(1);
  expect(unmasked({ url: 'mongodb://u:***@one/db' }, { url: 'mongodb://one/db' }, BY_SCHEMA).issues).toHaveLength(1);
});

test.each([
  ['a URL in each three characters', '***', '://'.repeat(300_000)],
  ['a password in each', '***', '://a:b'.repeat(150_000)],
  ['parameters without an end', '***?', 'key="'.repeat(200_000)],
  ['a scheme without an end', '***', `${'a'.repeat(900_000)}://h`],
])('a text that is made to take long takes no longer than others: %s', (_what, mask, text) => {
  const given = { url: mask + text, broker: text };
  expect(unmasked({ ...given, password: '***' }, { ...given, password: 'a secret' }, BY_NAME).config).toBeDefined();
  expect(maskText(text)).toBeTypeOf('string');
});

test('what is further on than a schema is followed is secret', () => {
  const properties = () => Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, {}]));
  const schema = { anyOf: Array.from({ length: 100 }, () => ({ patternProperties: properties() })) };
  const config = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 'open']));
  const told = masked(config, SecretPlace.whole(schema, { byName: true })) as typeof config;
  expect([told.k0, told.k99999]).toEqual(['open', '***']);
  const entries = Array.from({ length: 100_000 }, () => 'open');
  const circle: Record<string, unknown> = { anyOf: Array.from({ length: 100 }, () => ({ items: { $ref: '#' } })) };
  expect(masked(entries, SecretPlace.whole(circle, { byName: true }))).toEqual(entries);
});

test.each([
  ['pwd=secret;', 0],
  ['a://b:secret@d ', 1],
])('after a thousand secrets within a text, its rest is masked: %s', (part, issues) => {
  const text = part.repeat(2_000);
  const told = maskText(text);
  expect(told).not.toContain('secret');
  expect(told.split('***')).toHaveLength(1_002);
  // The rest is restored, or must be given.
  expect(unmasked({ uri: told }, { uri: text }, BY_NAME).issues).toHaveLength(issues);
});

test('a long reference of a schema is not resolved for each key', () => {
  const schema = { additionalProperties: { $ref: `#${'/x'.repeat(499_000)}` } };
  const config = Object.fromEntries(Array(200).fill('open').entries());
  const begun = busyMs();
  expect(masked(config, SecretPlace.whole(schema, { byName: true }))).toEqual(config);
  expect(busyMs() - begun).toBeLessThan(2_000);
});

test.each([
  [
    'lists',
    {
      additionalProperties: {
        allOf: Array(99)
          .fill(0)
          .map(() => ({ anyOf: Array(100).fill(0) })),
      },
    },
  ],
  [
    'entries',
    {
      additionalProperties: {
        anyOf: Array(99)
          .fill(0)
          .map(() => ({ prefixItems: Array(9_000).fill(0) })),
      },
    },
  ],
])('the %s of a schema count as it is followed, also if they are not schemas', (_what, schema) => {
  const config = { ...Array(100).fill('open'), list: Array(9_000).fill('open') };
  const told = masked(config, SecretPlace.whole(schema, { byName: true })) as { 0: string; list: string[] };
  expect([told[0], told.list.at(-1)]).toEqual(['open', '***']);
});

test('hostile schemas and configurations do no harm', () => {
  const circle: Record<string, unknown> = { allOf: [{ $ref: '#' }, { $ref: '#/allOf/0' }], $ref: '#/$defs/%E0%A4%A' };
  circle.items = circle;
  const config = JSON.parse('{"__proto__": {"password": "p"}, "constructor": [{"token": "t"}], "a": [[["x"]]]}');
  expect(JSON.stringify(masked(config, SecretPlace.whole(circle, { byName: true })))).toBe(
    '{"__proto__":{"password":"***"},"constructor":[{"token":"***"}],"a":[[["x"]]]}',
  );
  const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  expect(isTooDeep(deep)).toBe(true);
});
