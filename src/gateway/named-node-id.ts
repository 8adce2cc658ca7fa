import { ID_PREFIXES, type IdKind, kindOfId } from '../platform/ids.ts';

const NAMED_KINDS = ['accessClient', 'accessGroup', 'accessRole', 'stream'] as const satisfies readonly IdKind[];

export type NamedNodeKind = (typeof NAMED_KINDS)[number];

interface NodeName<Kind extends NamedNodeKind = NamedNodeKind> {
  readonly kind: Kind;
  readonly brokerId: string;
  readonly name: string;
}

/** `<prefix>_<broker id>.<name as base64url>`; the same if the object is deleted and created again. */
export const namedNodeId = ({ kind, brokerId, name }: NodeName): string =>
  `${ID_PREFIXES[kind]}_${brokerId}.${Buffer.from(name).toString('base64url')}`;

/** `null` if the text is not such an id. Does not check that the object exists. */
export function parseNamedNodeId(id: string): NodeName | null {
  const kind = NAMED_KINDS.find((known) => known === kindOfId(id));
  if (kind === undefined) return null;
  const [brokerId = '', name, ...more] = id.slice(ID_PREFIXES[kind].length + 1).split('.');
  if (name === undefined || more.length > 0 || kindOfId(brokerId) !== 'broker') return null;
  return { kind, brokerId, name: Buffer.from(name, 'base64url').toString() };
}
