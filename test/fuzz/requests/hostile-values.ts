import type { Random } from '../random.ts';

/**
 * Names that break maps, parsers, storage, patterns, paths, topics, templates, headers and what shows them. No name
 * resolves, and no address is remote.
 */
export const TEXTS: readonly string[] = [
  '',
  ' ',
  'a',
  'text@example.com',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '\0',
  'a\0b',
  '\ud800',
  'e\u0301\u202e',
  '\u00e9',
  'E\u0301',
  '\u200b\ufeff\u2060',
  '\u2028',
  '\ufffe\u{10ffff}',
  'a\r\nX-Header: b',
  '\u001b[31m\u0007',
  '%',
  '_',
  'a\\',
  '{{{problem.title}}}',
  '{{#problems}}{{constructor}}',
  '\0'.repeat(1_000),
  '💣'.repeat(40),
  '../../etc/passwd',
  '%00%2e%2e%2f',
  '\'; DROP TABLE "User"; --',
  '<script>alert(1)</script>',
  'a/b/c',
  '#',
  '+/+/#',
  'a/#/b',
  '$SYS/#',
  '$CONTROL/#',
  '$CONTROL/dynamic-security/v1',
  '$share/group/a',
  'a/'.repeat(100),
  'mqtt://127.0.0.1:1',
  'mqtts://localhost:1',
  'ws://127.0.0.1:1/mqtt',
  'http://127.0.0.1:1/hook',
  'postgresql://u:p@127.0.0.1:1/d',
  'javascript:alert(1)',
  'file:///etc/passwd',
  '127.0.0.1',
  '2026-01-31T12:00:00.000Z',
  '2026-02-31T12:00:00Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-14:00',
  '+275760-09-13T00:00:00.000Z',
  '99999999999999999',
  '-1',
  '1e400',
  'null',
  'true',
  '[]',
  '{"a":{"a":{"a":{}}}}',
  '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
  'x'.repeat(255),
  'x'.repeat(5_000),
  '\\%_'.repeat(20_000),
];

// TypeScript 7.0 does not declare it.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): number };

const NUMBERS: readonly number[] = [
  0,
  1,
  -1,
  2,
  10,
  100,
  1_000,
  2_147_483_647,
  -2_147_483_648,
  4_294_967_296,
  1e308,
  0.5,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  5e-324,
  // Such as JSON.stringify does not write.
  ...['-0', '1e400', '-1e-400', '9007199254740993', '21.20', '9'.repeat(400)].map(rawJSON),
];

export const hostileText = (random: Random): string => random.pick(TEXTS);

export const hostileNumber = (random: Random): number => random.pick(NUMBERS);

/** Any JSON value, at most `depth` levels deep. */
export function hostileJson(random: Random, depth = 3): unknown {
  const kind = random.int(0, depth > 0 ? 6 : 4);
  if (kind === 0) return null;
  if (kind === 1) return random.chance(0.5);
  if (kind === 2) return hostileNumber(random);
  if (kind <= 4) return hostileText(random);
  const length = random.chance(0.02) ? 300 : random.int(0, 4);
  const list = Array.from({ length }, () => hostileJson(random, depth - 1));
  if (kind === 5) return list;
  // Own keys by definition, so that `__proto__` is sent as a key.
  return Object.fromEntries(list.map((value, index) => [index % 2 === 0 ? hostileText(random) : `k${index}`, value]));
}
