import type { Random } from '../random.ts';
import type { Text } from './packets.ts';

/** Names of properties that every JavaScript object inherits. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'];

/** Invalid names and names at a limit: invalid UTF-8, lone surrogates, NUL, limits of length and levels. */
const EXTREME: readonly Text[] = [
  '',
  ' ',
  'a\0b',
  '\ufeffa',
  '\uffff',
  '\u0001',
  'é\u0301\u202e',
  '💣',
  { hex: 'eda080' },
  { hex: 'c0af' },
  { hex: 'ff' },
  { repeat: 'x', times: 65_535 },
  { repeat: '💣', times: 16_383 },
  { repeat: '\\"', times: 1_000 },
];

const EXTREME_TOPICS: readonly Text[] = [
  ...EXTREME,
  '/',
  '//',
  '$',
  '$/a',
  { repeat: 'a/', times: 99, end: 'z' },
  { repeat: 'a/', times: 100, end: 'z' },
  { repeat: 'a/', times: 199, end: 'z' },
  { repeat: 'a/', times: 200, end: 'z' },
  { repeat: '/', times: 65_535 },
  '$SYS/broker/uptime',
  '$SYS/a',
  '$CONTROL/dynamic-security/v1',
  '$CONTROL/cedalo/inspect/v1',
  '$CONTROL/dynamic-security/v1/response',
  '$CONTROL/unknown/v1',
  '$CONTROL/',
  '$share/group/a',
];

const EXTREME_FILTERS: readonly Text[] = [
  ...EXTREME_TOPICS,
  '#',
  '+/#',
  '+',
  '+/+',
  '/#',
  'a/#',
  '#/a',
  'a/#/b',
  'a+',
  'a#',
  '+a/b',
  '$SYS/#',
  '$CONTROL/#',
  '$CONTROL/dynamic-security/v1/response',
  '$share/group/#',
  '$share/group/__proto__',
  '$share//a',
  '$share/group',
  '$share/',
  '$share/g+/a',
  { repeat: '+/', times: 99, end: '#' },
  { repeat: '+/', times: 100, end: '#' },
  { repeat: '+/', times: 199, end: '#' },
  { repeat: '+/', times: 200, end: '#' },
  { repeat: '+/', times: 32_767 },
];

export const PLAIN_TOPICS = ['a', 'b', 'a/b', 'a/b/c', 'b/1', 'device/1/temperature', ...INHERITED, 'a/__proto__'];
export const PLAIN_FILTERS = [
  ...PLAIN_TOPICS,
  '#',
  '+',
  'a/#',
  '+/b',
  'a/+/c',
  '+/+',
  'device/+/temperature',
  '__proto__/#',
];
const CLIENT_IDS: readonly Text[] = ['c1', 'c2', 'c3', ...INHERITED];

export const plainId = (random: Random): string => random.pick(['c1', 'c2', 'c3', ...INHERITED]);

export const clientId = (random: Random): Text => random.pick(random.chance(0.85) ? CLIENT_IDS : EXTREME);

export const topic = (random: Random): Text => random.pick(random.chance(0.65) ? PLAIN_TOPICS : EXTREME_TOPICS);

export const filter = (random: Random): Text => random.pick(random.chance(0.6) ? PLAIN_FILTERS : EXTREME_FILTERS);

export const anyText = (random: Random): Text => random.pick(random.chance(0.5) ? INHERITED : EXTREME);

const COMMANDS = [
  { command: 'listClients' },
  { command: 'getClient', username: '__proto__' },
  { command: 'createClient', username: '__proto__', password: 'x', textname: '\ud800' },
  { command: 'createClient', username: 'x'.repeat(65_535), password: '' },
  { command: 'deleteClient', username: '__proto__' },
  {
    command: 'createRole',
    rolename: 'constructor',
    acls: [{ acltype: 'subscribePattern', topic: '__proto__', allow: true }],
  },
  { command: 'deleteRole', rolename: 'constructor' },
  { command: 'createGroup', groupname: 'toString', roles: [{ rolename: 'constructor', priority: 1e300 }] },
  { command: 'addGroupClient', groupname: 'toString', username: '__proto__' },
  { command: '__proto__' },
  { command: 'getClient', __proto__: null, username: { constructor: 1 } },
  { command: 'getClientInfo', clientid: '__proto__' },
];

/** Payloads: texts, JSON of control APIs, zeros, and rarely a megabyte. */
export function payload(random: Random): Text {
  const kind = random.int(0, 99);
  if (kind < 60) return random.pick(['', '1', 'payload', '{}']);
  if (kind < 75) return JSON.stringify({ commands: random.some(COMMANDS, 0.2) });
  if (kind < 96) return anyText(random);
  return { repeat: '\0', times: random.pick([1_000, 100_000, 1_048_576]) };
}
