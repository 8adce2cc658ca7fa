import { type IdKind, kindOfId } from '../../platform/ids.ts';
import { capitalized } from '../../platform/text/capitalized.ts';
import type { RequestContext, Services } from '../context.ts';
import { type NamedNodeKind, parseNamedNodeId } from '../named-node-id.ts';
import { builder } from './builder.ts';

export const BROKER_TYPE_NAMES = {
  CLOUD: 'CloudBroker',
  SELF_HOSTED: 'SelfHostedBroker',
  ON_PREMISE_SETUP: 'OnPremiseSetup',
} as const;

type Found = object | null | Promise<object | null>;

/** `null` if the object does not exist. NOT_FOUND means the same; `OutOfSight` is recorded in the audit. */
type Finder = (id: string, context: RequestContext) => Found;
type BrokerRecord = ReturnType<Services['brokers']['visible']>;
type NamedFinder = (broker: BrokerRecord, name: string, context: RequestContext) => Found;

const finders = new Map<IdKind, Finder>();
/** The type of each object that was found. Brokers have several types. */
const typeNames = new WeakMap<object, string>();

/** Declares how `node` finds the objects of a type. The name of the type is that of the kind, except for brokers. */
export function findsNode(kind: IdKind, find: Finder): void {
  finders.set(kind, find);
}

/** `findsNode` for objects of a broker that the caller may see. */
export function findsNamedNode(kind: NamedNodeKind, find: NamedFinder): void {
  findsNode(kind, (id, context) => {
    const named = parseNamedNodeId(id);
    if (named === null) return null;
    return find(context.services.brokers.visible(named.brokerId, context.viewer), named.name, context);
  });
}

export async function findNode(id: string, context: RequestContext): Promise<object | null> {
  const kind = kindOfId(id);
  const found = kind && (await finders.get(kind)?.(id, context));
  if (!found) return null;
  typeNames.set(found, capitalized(kind));
  return found;
}

/** The names of all types that `node` finds. */
export const nodeTypeNames = (): string[] => [
  ...Object.values(BROKER_TYPE_NAMES),
  ...[...finders.keys()].filter((kind) => kind !== 'broker').map(capitalized),
];

/** Types whose values have no global `id` define the field themselves. */
export const Node = builder.interfaceRef<object>('Node').implement({
  description: 'An object with an id that is unique in the whole graph.',
  fields: (t) => ({
    id: t.id({
      description: 'The global id, by which `node` finds the object.',
      resolve: (value) => (value as { readonly id: string }).id,
    }),
  }),
  resolveType: (value) => (isBroker(value) ? BROKER_TYPE_NAMES[value.type] : typeNames.get(value)),
});

const isBroker = (value: object): value is { readonly type: keyof typeof BROKER_TYPE_NAMES } =>
  'type' in value && typeof value.type === 'string' && value.type in BROKER_TYPE_NAMES;
