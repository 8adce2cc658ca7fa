import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BridgeKind, BridgeRules, JsonSchema } from '../../../../src/data-plane/bridges/model/bridge-kind.ts';
import { postgresqlBridgeKind } from '../../../../src/data-plane/bridges/postgresql/postgresql-bridge-kind.ts';
import { webhookBridgeKind } from '../../../../src/data-plane/bridges/webhook/webhook-bridge-kind.ts';
import { compileCheck, createValidator } from '../../../../src/platform/text/json-schema.ts';
import { createAuthority } from '../../../support/certificates.ts';
import { runs } from '../../../support/suite.ts';

const ANYWHERE: BridgeRules = { allowedHosts: [] };
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const COLUMNS = [{ column: 'topic', source: 'topic' }];
const MAPPING = { name: 'all', topics: ['#'], table: 'messages', columns: COLUMNS };

const database = (fields: object) => ({
  connections: [{ name: 'a', url: 'postgresql://user:pw@db.example:5432/plant', mappings: [MAPPING], ...fields }],
});
const mapped = (fields: object) => database({ mappings: [{ ...MAPPING, ...fields }] });
const hook = (fields: object) => ({
  connections: [{ name: 'a', url: 'https://hooks.example/in', secret: SECRET, topics: ['#'], ...fields }],
});

/** What is wrong by the schema, else by the check, as `path: reason`. */
function problems(kind: BridgeKind, config: unknown, rules = ANYWHERE) {
  compileCheck(createValidator(), kind.schema)(config);
  return kind.check(config, rules).map(({ path, reason }) => `${path.replace('/connections/0', '')}: ${reason}`);
}

describe.each([postgresqlBridgeKind, webhookBridgeKind])('$id', (kind) => {
  test('describes each property, and takes its empty configuration', () => {
    expect(undescribed(kind.schema)).toEqual([]);
    expect(createValidator().validateSchema(kind.schema)).toBe(true);
    expect(problems(kind, kind.empty)).toEqual([]);
  });

  test('refuses names that are there twice', () => {
    const make = kind === webhookBridgeKind ? hook : database;
    const [one] = make({}).connections;
    expect(problems(kind, { connections: [one, { ...one, name: 'b' }] })).toEqual([]);
    expect(problems(kind, { connections: [one, one] })).toEqual([
      '/connections/1/name: is the name of another connection',
    ]);
  });

  test('never fails, whatever fits its schema', () => {
    const check = createValidator().compile(kind.schema);
    let checked = 0;
    fc.assert(
      fc.property(fitting(kind.schema), fc.array(fc.webAuthority()), (config, allowedHosts) => {
        if (!check(config)) return;
        checked += 1;
        for (const { path, reason } of kind.check(config, { allowedHosts })) {
          expect(path).toMatch(/^\/connections\/\d+/);
          expect(reason).not.toBe('');
        }
      }),
      { numRuns: runs(200) },
    );
    expect(checked).toBeGreaterThan(runs(200) / 4);
  });
});

describe('a connection to PostgreSQL', () => {
  test.each([
    'postgresql://user:pw@db.example/plant',
    'postgres://user@[::1]:5433/plant?sslmode=require',
    'postgresql://us%40er:p%2Fw@127.0.0.1/pl%20ant',
  ])('may be %s', (url) => expect(problems(postgresqlBridgeKind, database({ url }))).toEqual([]));

  test.each([
    ['mysql://user@db/plant', '/url: must be a URL such as postgresql://host:5432/database'],
    ['postgresql://user@db/plant?host=elsewhere', '/url: must have no parameter but "sslmode"'],
    [
      'postgresql://user@db/plant?sslmode=prefer',
      '/url: must have as "sslmode" one of disable, no-verify, require, verify-ca, verify-full',
    ],
    ['postgresql:///plant?host=%2Ftmp', '/url: must name a host'],
    ['postgresql://user@db/', '/url: must name a database'],
    ['postgresql://db/plant', '/username: is needed'],
    ['postgresql://us%ZZer@db/plant', '/url: is not encoded as a URL'],
    ['postgresql://user@db/plant#x', '/url: must not have a fragment'],
  ])('may not be %s', (url, problem) => {
    expect(problems(postgresqlBridgeKind, database({ url }))).toEqual([problem]);
  });

  test('may be given in parts or as a URL, but not as both', () => {
    const parts = { url: undefined, host: 'db.example', database: 'plant', username: 'user' };
    const { url: _, ...connection } = { ...database({}).connections[0], ...parts };
    const config = (fields: object) => ({ connections: [{ ...connection, ...fields }] });
    expect(problems(postgresqlBridgeKind, config({ host: '::1' }))).toEqual([]);
    expect(problems(postgresqlBridgeKind, config({ host: '/var/run/postgresql' }))).toEqual([
      '/host: must be a host name or an address',
    ]);
    expect(problems(postgresqlBridgeKind, config({ host: 'user@evil' }))).toEqual([
      '/host: must be a host name or an address',
    ]);
    expect(problems(postgresqlBridgeKind, database({ host: 'db.example' }))).toEqual([
      '/host: must not be given together with "url"',
    ]);
  });

  test('goes to hosts that the operator allows, however they are written', () => {
    const rules = { allowedHosts: ['db.example', '[::1]'] };
    expect(problems(postgresqlBridgeKind, database({ url: 'postgresql://u@DB.example/plant' }), rules)).toEqual([]);
    expect(problems(postgresqlBridgeKind, database({ url: 'postgresql://u@[::1]/plant' }), rules)).toEqual([]);
    for (const host of ['other.example', 'db.example.evil', '127.0.0.1', '[::2]']) {
      expect(problems(postgresqlBridgeKind, database({ url: `postgresql://u@${host}/plant` }), rules)).toEqual([
        '/url: is not an allowed host: add it to the setting BROKER_ALLOWED_HOSTS',
      ]);
    }
  });

  test.each([
    [{ topics: ['a/#/b'] }, '/mappings/0/topics/0: # must be the whole last level'],
    [{ topics: ['$share/g/a'] }, '/mappings/0/topics/0: must not be a shared subscription'],
    [
      { topics: ['$SYS/#', '$CONTROL/#'] },
      '/mappings/0/topics/1: must not be below $CONTROL: commands and their answers hold passwords',
    ],
    [{ table: 'ü'.repeat(40) }, '/mappings/0/table: must not exceed 63 bytes'],
    [{ deadLetterTable: 'messages' }, '/mappings/0/deadLetterTable: must be another table than "table"'],
    [{ columns: [...COLUMNS, ...COLUMNS] }, '/mappings/0/columns/1/column: is there twice'],
    [{ idColumn: 'a\0b' }, '/mappings/0/idColumn: must not contain NUL'],
  ])('refuses the mapping %j', (fields, problem) => {
    expect(problems(postgresqlBridgeKind, mapped(fields))).toEqual([problem]);
  });

  test('takes sources that are one, and refuses others', () => {
    const taken = [
      'topic',
      'topic[0]',
      'topic[-1]',
      'payload',
      'payload.a',
      'payload.a.b[3]["any \\"key"].c',
      'payload[0]',
      'qos',
    ];
    const refused = [
      '',
      'Topic',
      'topic[a]',
      'topic.a',
      'payload.',
      'payload..a',
      'payload[a]',
      'payload["a]',
      'payload["a\n"]',
      'qos[0]',
    ];
    const columns = (sources: readonly string[]) =>
      mapped({ columns: sources.map((source, index) => ({ column: `c${index}`, source: source || ' ' })) });
    expect(problems(postgresqlBridgeKind, columns(taken))).toEqual([]);
    expect(problems(postgresqlBridgeKind, columns(refused))).toHaveLength(refused.length);
  });

  test('refuses certificates that are none, and one without its key', () => {
    expect(problems(postgresqlBridgeKind, database({ cert: 'x' }))).toEqual([
      '/key: is needed: a certificate and its key go together',
    ]);
    expect(problems(postgresqlBridgeKind, database({ cert: 'x', key: 'y' }))).toEqual([
      '/cert: is not PEM: there is no line -----BEGIN CERTIFICATE-----',
    ]);
  });
});

describe('a webhook', () => {
  test.each([
    [{ url: 'ftp://hooks.example/' }, '/url: must be a URL such as https://host/path'],
    [{ url: 'https://user:pw@hooks.example/' }, '/url: must not hold credentials; use headers'],
    [{ secret: 'secret' }, '/secret: must be "whsec_" and base64, or several of these with one space between'],
    [{ secret: 'whsec_c2hvcnQ=' }, '/secret: must have 24 to 64 bytes behind "whsec_"'],
    [
      { secret: `${SECRET}  ${SECRET}` },
      '/secret: must be "whsec_" and base64, or several of these with one space between',
    ],
    [{ headers: { 'Webhook-Id': 'x' } }, '/headers/Webhook-Id: is set by the service itself'],
    [{ headers: { Host: 'x' } }, '/headers/Host: is set by the service itself'],
    [{ headers: { 'a b': 'x' } }, '/headers/a b: must be a header that HTTP can carry'],
    [{ headers: { a: 'x\r\ny: z' } }, '/headers/a: must be a header that HTTP can carry'],
    [{ headers: { a: 'x', A: 'y' } }, '/headers/A: is there twice'],
    [{ topics: ['a+'] }, '/topics/0: + must be a whole level'],
  ])('refuses %j', (fields, problem) => {
    expect(problems(webhookBridgeKind, hook(fields))).toEqual([problem]);
  });

  test('goes to hosts that the operator allows, and addresses in other spellings are the same address', () => {
    const rules = { allowedHosts: ['hooks.example', '10.0.0.1'] };
    expect(problems(webhookBridgeKind, hook({ url: 'https://HOOKS.example/x' }), rules)).toEqual([]);
    expect(problems(webhookBridgeKind, hook({ url: 'http://0x0a.1/' }), rules)).toEqual([]);
    expect(problems(webhookBridgeKind, hook({ url: 'http://2130706433/' }), rules)).toEqual([
      '/url: is not an allowed host: add it to the setting BROKER_ALLOWED_HOSTS',
    ]);
  });

  test('goes to addresses of networks that the operator allows', () => {
    const rules = { allowedHosts: ['10.0.0.0/8', 'fd00::/8'] };
    for (const host of ['10.1.2.3', '0x0a.7', '[fd00::1]', '[::ffff:10.1.2.3]']) {
      expect(problems(webhookBridgeKind, hook({ url: `https://${host}/` }), rules)).toEqual([]);
    }
    for (const host of ['11.0.0.1', '[fe00::1]', '[::ffff:11.0.0.1]', 'hooks.example']) {
      expect(problems(webhookBridgeKind, hook({ url: `https://${host}/` }), rules)).toHaveLength(1);
    }
  });

  test('takes an authority and a certificate of its own with https alone', () => {
    const { leaf, cert, key } = createAuthority();
    expect(problems(webhookBridgeKind, hook({ ca: leaf, cert, key, verifyCa: true }))).toEqual([]);
    expect(problems(webhookBridgeKind, hook({ ca: 'x', cert }))).toEqual([
      '/key: is needed: a certificate and its key go together',
    ]);
    expect(problems(webhookBridgeKind, hook({ ca: 'x' }))).toEqual([
      '/ca: is not PEM: there is no line -----BEGIN CERTIFICATE-----',
    ]);
    expect(problems(webhookBridgeKind, hook({ ca: leaf + key }))).toEqual([
      '/ca: contains a PRIVATE KEY, which is not a certificate',
    ]);
    const large = createAuthority({ key: 'rsa-8256' });
    const oversize = expect.stringMatching(/has a key of 8\d+ bits: at most 8192 are allowed$/);
    expect(problems(webhookBridgeKind, hook({ ca: large.leaf }))).toEqual([oversize]);
    expect(problems(webhookBridgeKind, hook({ cert: large.leaf, key }))).toEqual([oversize]);
    expect(problems(webhookBridgeKind, hook({ cert, key: large.key }))).toEqual([oversize]);
    expect(problems(webhookBridgeKind, hook({ cert, key: createAuthority().key }))).toEqual([
      '/key: does not belong to the client certificate',
    ]);
    expect(problems(webhookBridgeKind, hook({ url: 'http://hooks.example/in', ca: leaf }))).toEqual([
      '/ca: needs a "url" with https',
    ]);
  });
});

/** Places of a schema that say nothing of themselves. */
function undescribed(schema: JsonSchema, path = ''): string[] {
  const { description, properties = {}, items, additionalProperties } = schema as Record<string, JsonSchema>;
  const inside = [
    ...Object.entries(properties).flatMap(([name, each]) => undescribed(each as JsonSchema, `${path}/${name}`)),
    ...(items === undefined ? [] : undescribed(items, `${path}/items`)),
    ...(typeof additionalProperties === 'object' ? undescribed(additionalProperties, `${path}/*`) : []),
  ];
  return description === undefined ? [path, ...inside] : inside;
}

/** Values that mostly fit a schema of the kinds above. */
function fitting(schema: JsonSchema): fc.Arbitrary<unknown> {
  const {
    type,
    properties,
    required = [],
    items = {},
    enum: choices,
    minimum = 0,
    maximum = 0,
    minItems,
  } = schema as Keywords;
  if (choices !== undefined) return fc.constantFrom(...choices);
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31 - 1) });
  if (type === 'array') return fc.array(fitting(items), { minLength: minItems ?? 0, maxLength: 3 });
  if (type === 'string') return fc.oneof(fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }), ...TEXTS);
  if (properties === undefined) return fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }));
  const fields = Object.entries(properties).map(([name, each]) => [name, fitting(each)]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [...required] as never[] });
}

interface Keywords {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
}

const TEXTS = [
  fc.constantFrom(
    'postgresql://u:p@h/d?sslmode=require',
    'https://h/',
    SECRET,
    'payload["a"].b[0]',
    'topic[-1]',
    '$share/a/b',
    '#',
  ),
  fc.webUrl(),
  fc.stringMatching(/^postgres(ql)?:\/\/[a-z%@:[\]]{0,8}\/[a-z%]{0,4}(\?[a-z=&%]{0,6})?$/),
];
