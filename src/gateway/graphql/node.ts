import { type IdKind, kindOfId } from '../../platform/ids.ts';
import { builder } from './builder.ts';

export const BROKER_TYPE_NAMES = {
  CLOUD: 'CloudBroker',
  SELF_HOSTED: 'SelfHostedBroker',
  ON_PREMISE_SETUP: 'OnPremiseSetup',
} as const;

/** Types whose values have no `id` define the field themselves. */
export const Node = builder.interfaceRef<object>('Node').implement({
  description: 'An object with an id.',
  fields: (t) => ({ id: t.id({ resolve: (value) => (value as { readonly id: string }).id }) }),
  resolveType: (value) => {
    if (isBroker(value)) return BROKER_TYPE_NAMES[value.type];
    const kind = kindOfId((value as { readonly id: string }).id);
    return kind === null ? undefined : NODE_TYPE_NAMES[kind];
  },
});

const NODE_TYPE_NAMES: Partial<Record<IdKind, string>> = {
  project: 'Project',
  user: 'User',
  organisation: 'Organisation',
  token: 'Token',
  certificate: 'Certificate',
  accessClient: 'AccessClient',
  accessGroup: 'AccessGroup',
  accessRole: 'AccessRole',
  stream: 'Stream',
};

const isBroker = (value: object): value is { readonly type: keyof typeof BROKER_TYPE_NAMES } =>
  'type' in value && typeof value.type === 'string' && value.type in BROKER_TYPE_NAMES;
