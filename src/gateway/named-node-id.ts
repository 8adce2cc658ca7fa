import { ID_PREFIXES, type IdKind, kindOfId } from '../platform/ids.ts';

const NAMED_KINDS = [
  'account',
  'accessGroup',
  'accessRole',
  'bridge',
  'brokerListener',
  'clusterNode',
  'connectedClient',
  'refusal',
  'stream',
  'topic',
] as const satisfies readonly IdKind[];

export type NamedNodeKind = (typeof NAMED_KINDS)[number];

interface NodeName<Kind extends NamedNodeKind = NamedNodeKind> {
  readonly kind: Kind;
  readonly brokerId: string;
  readonly name: string;
}

/** An id of the longest name, a topic of 65,535 bytes, has 87,380 characters and that of the broker. */
const MAX_LENGTH = 88_000;

/** `<prefix>_<broker id>.<name as base64url>`; the same if the object is deleted and created again. */
export const namedNodeId = ({ kind, brokerId, name }: NodeName): string =>
  `${ID_PREFIXES[kind]}_${brokerId}.${Buffer.from(name).toString('base64url')}`;

/** `null` if the text is not exactly such an id. Does not check that the object exists. */
export function parseNamedNodeId(id: string): NodeName | null {
  const kind = NAMED_KINDS.find((known) => known === kindOfId(id));
  if (kind === undefined || id.length > MAX_LENGTH) return null;
  const [brokerId = '', encoded = ''] = id.slice(ID_PREFIXES[kind].length + 1).split('.', 2);
  const node = { kind, brokerId, name: Buffer.from(encoded, 'base64url').toString() };
  return kindOfId(brokerId) === 'broker' && node.name !== '' && namedNodeId(node) === id ? node : null;
}
