import { ID_PREFIXES, type IdKind, kindOfId } from '../platform/ids.ts';

const NAMED_KINDS = ['accessClient', 'accessGroup', 'accessRole', 'stream'] as const satisfies readonly IdKind[];

/** What brokers know by names that somebody chose. */
export type NamedNodeKind = (typeof NAMED_KINDS)[number];

export interface NodeName<Kind extends NamedNodeKind = NamedNodeKind> {
  readonly kind: Kind;
  readonly brokerId: string;
  readonly name: string;
}

/**
 * The id of what a broker knows by a name: `<prefix>_<broker id>.<name as base64url>`. It lasts as long as the name does, so one
 * that is deleted and made again has the id that it had.
 */
export const namedNodeId = ({ kind, brokerId, name }: NodeName): string =>
  `${ID_PREFIXES[kind]}_${brokerId}.${Buffer.from(name).toString('base64url')}`;

/** Null for what is no such id. Says nothing about existence. */
export function parseNamedNodeId(id: string): NodeName | null {
  const kind = NAMED_KINDS.find((known) => known === kindOfId(id));
  if (kind === undefined) return null;
  const [brokerId = '', name, ...more] = id.slice(ID_PREFIXES[kind].length + 1).split('.');
  if (name === undefined || more.length > 0 || kindOfId(brokerId) !== 'broker') return null;
  return { kind, brokerId, name: Buffer.from(name, 'base64url').toString() };
}
