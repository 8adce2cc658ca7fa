import fc from 'fast-check';
import {
  type GraphQLInputObjectType,
  getNamedType,
  isInputObjectType,
  isScalarType,
  specifiedScalarTypes,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { looksSecret, MASK, masked } from '../../../src/domains/audit/secret-masking.ts';

const PLANTED = 'hunter2-hunter2';

describe('names', () => {
  test.each([
    'password',
    'currentPassword',
    'passwordHash',
    'password_again',
    'clientKey',
    'privateKey',
    'sealedConfig',
    'apiKey',
    'api-key',
    'X-Api-Key',
    'secret',
    'client_secret',
    'secretAccessKey',
    'refreshToken',
    'refresh_tokens',
    'Authorization',
    'code',
    'recoveryCodes',
    'totpSecret',
    'pin',
    'salt',
    'PASSWORD',
    'userPassword1',
    'credentials',
    'tokenHash',
    'sslpassword',
    'bindpw',
    'clientsecret',
    'accesstoken',
    'secretkey',
    'bridge_psk',
    'tokenValue',
    'clientKeyPem',
    'authHeader',
  ])('%s is a secret', (name) => expect(looksSecret(name)).toBe(true));

  test.each([
    'username',
    'tokenId',
    'clientKeyFile',
    'keepalive',
    'monkey',
    'certificateId',
    'passwordId',
    'cert',
    'topic',
    'encoding',
    'hashtag',
    'name',
    'keyType',
    'tokenName',
    'pinned',
    'value',
    'textValue',
    'turkeys',
  ])('%s is none', (name) => expect(looksSecret(name)).toBe(false));
});

test('a secret is masked by its name wherever it stands, and nothing else is', () => {
  const value = {
    name: 'One',
    password: PLANTED,
    nested: [{ clientKey: PLANTED, port: 1883, auth: { user: 'me', pass: PLANTED } }],
    headers: [
      { name: 'X-Api-Key', value: PLANTED },
      { name: 'Accept', value: 'text/plain' },
      { header: 'Authorization', value: `Token ${PLANTED}` },
    ],
    hasPassword: true,
    token: null,
  };
  expect(masked(value)).toEqual({
    name: 'One',
    password: MASK,
    nested: [{ clientKey: MASK, port: 1883, auth: MASK }],
    headers: [
      { name: 'X-Api-Key', value: MASK },
      { name: 'Accept', value: 'text/plain' },
      { header: 'Authorization', value: MASK },
    ],
    hasPassword: true,
    token: null,
  });
});

test.each([
  ['a URL', `mqtts://me:${PLANTED}@broker.example:8883/path`, `mqtts://me:${MASK}@broker.example:8883/path`],
  ['a URL with a slash too few', `postgres:/me:${PLANTED}@db.example/x`, `postgres:/me:${MASK}@db.example/x`],
  ['a URL with a slash too many', `postgres:///me:${PLANTED}@db.example/x`, `postgres:///me:${MASK}@db.example/x`],
  ['a URL without its colon', `mqtt//me:${PLANTED}@h.example`, `mqtt//me:${MASK}@h.example`],
  ['a URL without slashes', `amqp:me:p@${PLANTED}@h.example`, `amqp:me:${MASK}@h.example`],
  ['a URL without its scheme', `at me:${PLANTED}/x@h.example:1883`, `at me:${MASK}@h.example:1883`],
  ['a query', `https://h.example/?token=${PLANTED}&page=2`, `https://h.example/?token=${MASK}&page=2`],
  ['a connection text', `host=db user=me password=${PLANTED} port=1`, `host=db user=me password=${MASK} port=1`],
  ['a header', `Authorization: Bearer ${PLANTED}`, `Authorization: ${MASK}`],
  ['a session', `as bgs_${'a'.repeat(43)}`, `as ${MASK}`],
  ['a private key', `-----BEGIN PRIVATE KEY-----\n${PLANTED}\n-----END PRIVATE KEY-----`, MASK],
  ['a header of another scheme', `Authorization: Token ${PLANTED}\nAccept: x`, `Authorization: ${MASK}\nAccept: x`],
  ['a cookie', `curl -H "Cookie: a=${PLANTED}; b=${PLANTED}" https://h`, `curl -H "Cookie: ${MASK}" https://h`],
  ['a template of JSON', `{"apiKey": "${PLANTED}", "v": {{value}}}`, `{"apiKey": ${MASK}, "v": {{value}}}`],
  ['a quote within', `{"password":"\\"${PLANTED}", {{v}}}`, `{"password":${MASK}, {{v}}}`],
  ['JSON within a text', `sends {\\"password\\":\\"${PLANTED}\\"} each day`, `sends {\\"password\\":${MASK}} each day`],
  ['XML', `<a><password x="1">${PLANTED}</password></a>`, `<a><password x="1">${MASK}</password></a>`],
  ['a command line', `mosquitto_pub --password ${PLANTED} -t a`, `mosquitto_pub --password ${MASK} -t a`],
  ['a URL with a slash in it', `amqp://me:a/${PLANTED}@broker/v`, `amqp://me:${MASK}@broker/v`],
  ['a PGP key', `-----BEGIN PGP PRIVATE KEY BLOCK-----\n${PLANTED}\n-----END PGP PRIVATE KEY BLOCK-----`, MASK],
  [
    'a document',
    JSON.stringify({ clients: [{ username: 'me', password: PLANTED }] }),
    '{"clients":[{"username":"me","password":"***"}]}',
  ],
])('%s within a text loses its secret', (_what, text, shown) => {
  expect(masked({ text })).toEqual({ text: shown });
});

test.each(['https://h.example:8080/a@b', 'mqtt://broker.example:1883', 'a: b, c = d', 'https://me@h.example/x:y@z'])(
  '%s is shown as it is',
  (text) => expect(masked({ text })).toEqual({ text }),
);

test.each([
  'mailto:me@example.com',
  'To: me@example.com',
  'mqtt://h.example:1883/a@b',
  'h.example:1883/a@b',
  'https://h.example/@me',
  'at 12:30 me@example.com',
])('%s has none', (text) => expect(masked({ text })).toEqual({ text }));

test('long values are truncated with their size, and binary data is not copied', () => {
  const cut = masked({ text: 'x'.repeat(5_000), list: Array(500).fill(1), bytes: Buffer.alloc(9), at: new Date(0) });
  expect(cut).toMatchObject({
    text: expect.stringMatching(/^x{1000}… \(5000 characters\)$/),
    bytes: '(9 bytes)',
    at: '1970-01-01T00:00:00.000Z',
  });
  const { list } = cut as { readonly list: readonly unknown[] };
  expect([list.length, list.at(-1)]).toEqual([101, '… and 400 more']);
  expect(JSON.stringify(masked(Array.from({ length: 300 }, () => Array(300).fill('word')))).length).toBeLessThan(
    20_000,
  );
});

test('what is kept of one input has a bound, whatever it is made of', () => {
  const one = '\u0001'.repeat(1_000);
  const named = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`${n}${one}`, true]));
  for (const input of [Array(100).fill(Array(10).fill(one)), named, { config: { ...named, password: one } }]) {
    expect(JSON.stringify(masked(input)).length).toBeLessThan(30_000);
    expect(JSON.stringify(masked(input, undefined, 100)).length).toBeLessThan(14_000);
  }
});

test('whatever surrounds it, a secret does not come through, and what does is JSON within bounds', () => {
  const secretName = fc.constantFrom('password', 'clientKey', 'refreshToken', 'secret');
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), tie('object'), tie('list')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    planted: fc
      .tuple(fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }), secretName)
      .map(([around, name]) => ({ ...around, [name]: PLANTED })),
  })).planted;
  fc.assert(
    fc.property(tree, fc.boolean(), (value, asText) => {
      const text = JSON.stringify(masked(asText ? { document: JSON.stringify(value) } : { value }));
      expect(text).not.toContain(PLANTED);
      expect(text.length).toBeLessThan(200_000);
    }),
  );
});

test('a text that was made up for it is looked through as any other: within the time of a test', () => {
  for (const piece of [
    'a',
    'a.',
    'a=',
    'https://',
    '-----BEGIN PRIVATE KEY-----',
    'bearer ',
    ' ',
    'bgs_',
    '[',
    'a:a@',
    ',a:',
    'a:/',
    'http:/',
  ]) {
    masked({ text: piece.repeat(190_000 / piece.length) });
  }
});

/** Input fields that contain no secrets, although their names suggest it: `extensions: { secret: false }`. */
const HARMLESS: readonly string[] = ['CreateStreamInput.key', 'UpdateStreamInput.key'];

test('each input field of the graph that may hold a secret is masked', () => {
  const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType);
  const shown: string[] = [];
  for (const type of inputs) {
    for (const field of Object.values(type.getFields())) {
      const leaf = getNamedType(field.type);
      const isText =
        isScalarType(leaf) && (leaf.name === 'String' || leaf.name === 'ID' || !specifiedScalarTypes.includes(leaf));
      if (!isText || !/pass|secret|token|key|credential|code|pin\b|otp/i.test(field.name)) continue;
      if (/Ids?$|Files?$|username/i.test(field.name)) continue;
      const kept = JSON.stringify(masked({ [field.name]: PLANTED }, type as GraphQLInputObjectType));
      if (kept.includes(PLANTED)) shown.push(`${type.name}.${field.name}`);
    }
  }
  expect(shown.sort()).toEqual([...HARMLESS].sort());
});
