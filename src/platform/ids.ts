import { randomBytes } from 'node:crypto';

export const ID_PREFIXES = {
  project: 'prj',
  broker: 'brk',
  certificate: 'crt',
  token: 'tok',
  user: 'usr',
  cluster: 'cls',
  organization: 'org',
  session: 'ses',
  signInRule: 'rul',
  notificationChannel: 'ntc',
  notificationDelivery: 'ntd',
  auditEvent: 'aud',
  process: 'prc',
  job: 'job',
  problem: 'prb',
  problemSilence: 'sil',
  // Objects that have the id of their broker and a name; see named-node-id.ts.
  bridge: 'brg',
  brokerListener: 'lsn',
  clusterNode: 'cln',
  connectedClient: 'con',
  topic: 'top',
  stream: 'str',
  account: 'acc',
  accessGroup: 'acg',
  accessRole: 'acr',
  refusal: 'rfs',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Creates an id that sorts by time: `<prefix>_`, 10 digits of milliseconds, 16 random ones (Crockford base 32). */
export function newId(kind: IdKind, now = Date.now()): string {
  let time = '';
  for (let rest = now, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32] + time;
  const random = Array.from(randomBytes(16), (byte) => ALPHABET[byte & 31]);
  // One flat string: V8 stores a concatenated one as a tree of its parts, for as long as it lives.
  return [ID_PREFIXES[kind], '_', time, ...random].join('');
}

const KIND_BY_PREFIX = new Map<string, IdKind>(
  Object.entries(ID_PREFIXES).map(([kind, prefix]) => [prefix, kind as IdKind]),
);

/** `null` if the prefix is unknown. The object may not exist. */
export function kindOfId(id: string): IdKind | null {
  const end = id.indexOf('_');
  return end < 0 ? null : (KIND_BY_PREFIX.get(id.slice(0, end)) ?? null);
}
