import { type IdKind, kindOfId } from '../ids.ts';
import { builder } from './builder.ts';

/** Object type by the `type` of a broker's row. */
export const BROKER_TYPE_NAMES = {
  CLOUD: 'CloudBroker',
  SELF_HOSTED: 'SelfHostedBroker',
  ON_PREMISE_SETUP: 'OnPremiseSetup',
} as const;

/** Relay's Node. Ids are opaque, sort by creation, carry their kind as a prefix and are the same in REST. */
export const Node = builder.interfaceRef<{ readonly id: string }>('Node').implement({
  description: 'Anything that has an id.',
  fields: (t) => ({ id: t.exposeID('id') }),
  resolveType: (value) => {
    if (isBroker(value)) return BROKER_TYPE_NAMES[value.type];
    const kind = kindOfId(value.id);
    return kind === null ? undefined : NODE_TYPE_NAMES[kind];
  },
});

const NODE_TYPE_NAMES: Partial<Record<IdKind, string>> = {
  project: 'Project',
  user: 'User',
  organisation: 'Organisation',
  token: 'Token',
};

const isBroker = (value: object): value is { readonly type: keyof typeof BROKER_TYPE_NAMES } =>
  'type' in value && typeof value.type === 'string' && value.type in BROKER_TYPE_NAMES;
