import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { sizeOf } from '../../../gateway/graphql/response-limit.ts';
import { characterBudget, mayQueryBroker, spendCharacters, walk } from '../../../gateway/graphql/walk-limit.ts';
import { Broker, ControlProvider } from '../../brokers/broker-schema.ts';
import { type BridgeConnectionView, type BridgeView, readConnections } from '../bridge-view.ts';
import type { SysBridgeOrigin } from '../live/sys-bridges.ts';
import type { BridgeConnectionState, BridgeRejection } from '../model/bridge-status.ts';

const BridgeConnectionStateType = builder.enumType('BridgeConnectionState', {
  description: 'Whether a connection of a bridge works.',
  values: {
    INACTIVE: { description: 'It is switched off in the configuration.' },
    CONNECTING: { description: 'The first attempt, or one after a change of the configuration.' },
    CONNECTED: { description: 'Messages pass.' },
    UNAUTHORISED: { description: 'The other side refuses the credentials.' },
    UNREACHABLE: { description: 'The other side, or the broker itself, is away; attempts go on.' },
    FAILED: { description: 'It cannot work as it is configured; the error says why.' },
  } as const satisfies Record<BridgeConnectionState, object>,
});

const BridgeOriginType = builder.enumType('BridgeOrigin', {
  description: 'Whose configuration file a bridge stands in that a Mosquitto runs.',
  values: {
    OWN: { description: 'That of this broker.' },
    OTHER: { description: 'That of another broker, which connects to this one.' },
    UNKNOWN: { description: 'The broker has told neither in its log while this service looked.' },
  } as const satisfies Record<SysBridgeOrigin, object>,
});

const UNTOLD = 'Null: its provider does not tell.';

const Rejection = builder.objectRef<BridgeRejection>('BridgeRejection').implement({
  description: 'A message that could not be delivered as it is.',
  fields: (t) => ({
    at: t.field({ description: 'When that was known.', type: 'DateTime', resolve: ({ at }) => new Date(at) }),
    reason: t.exposeString('reason', { description: 'Why, without what was in it.' }),
  }),
});

export const BridgeConnectionType = builder.objectRef<BridgeConnectionView>('BridgeConnectionStatus').implement({
  description: 'What one connection of a bridge tells. Counts are since the bridge was started where it runs.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'As the configuration calls it.' }),
    isConnected: t.exposeBoolean('isConnected', { description: 'Both sides are.' }),
    state: t.expose('state', {
      description: `Whether it works. ${UNTOLD}`,
      type: BridgeConnectionStateType,
      nullable: true,
    }),
    since: t.field({
      description: `When the state changed last. ${UNTOLD}`,
      type: 'DateTime',
      nullable: true,
      resolve: ({ since }) => (since === null ? null : new Date(since)),
    }),
    error: t.exposeString('error', {
      description: 'The last one, of the state that it is in. Null: none.',
      nullable: true,
    }),
    queuedMessages: t.exposeFloat('queuedMessages', {
      description: `Taken and not yet delivered. ${UNTOLD}`,
      nullable: true,
    }),
    queuedBytes: t.exposeFloat('queuedBytes', { description: `What these have together. ${UNTOLD}`, nullable: true }),
    received: t.exposeFloat('received', { description: `Messages that came to it. ${UNTOLD}`, nullable: true }),
    delivered: t.exposeFloat('delivered', {
      description: `Messages that the other side took. ${UNTOLD}`,
      nullable: true,
    }),
    dropped: t.exposeFloat('dropped', {
      description: `Messages that were not taken because the queue was full. ${UNTOLD}`,
      nullable: true,
    }),
    rejected: t.exposeFloat('rejected', {
      description: `Messages that cannot be delivered as they are. ${UNTOLD}`,
      nullable: true,
    }),
    lastRejection: t.field({
      description: 'The last one of these. Null: there was none, or its provider does not tell.',
      type: Rejection,
      nullable: true,
      resolve: ({ lastRejection }) => lastRejection,
    }),
  }),
});

const NOT_OVER_MQTT = 'Null for a bridge that a Mosquitto runs from its configuration file';
const STRICT = 'True: NOT_SUPPORTED_BY_BROKER, with what would help, instead of null.';

export const Bridge = builder.objectRef<BridgeView>('Bridge').implement({
  description: 'What carries messages between a broker and another system.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description:
        'Of this bridge among those of its broker: `mqtt-bridge`, or `connection-<client id>` of a Mosquitto’s own.',
    }),
    name: t.exposeString('name', { description: 'For people.' }),
    broker: t.expose('broker', { description: 'The one that it stands beside.', type: Broker }),
    provider: t.expose('provider', { description: 'Who runs it.', type: ControlProvider }),
    isActive: t.exposeBoolean('isActive', {
      description:
        'It is configured: with connections, in the broker’s configuration file as a plugin, or as a connection that is no leftover.',
    }),
    isConfigurable: t.boolean({
      description: 'False: a Mosquitto runs it from its configuration file, and tells only whether it is connected.',
      resolve: ({ api }) => api !== null,
    }),
    origin: t.field({
      description: 'Of a bridge that a Mosquitto runs from a configuration file; null for others.',
      type: BridgeOriginType,
      nullable: true,
      resolve: ({ sys }) => sys?.origin ?? null,
    }),
    schema: t.field({
      description: `JSON Schema of the configuration. ${NOT_OVER_MQTT}.`,
      type: 'JSON',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      args: { strict: t.arg.boolean({ description: STRICT, defaultValue: false }) },
      resolve: async (bridge, { strict }, context) =>
        (await mayReturnText(bridge, strict, context)) ? context.services.bridges.schema(bridge) : null,
    }),
    config: t.field({
      description: `Whole, with \`***\` for each secret. ${NOT_OVER_MQTT}.`,
      type: 'JSON',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      args: { strict: t.arg.boolean({ description: STRICT, defaultValue: false }) },
      resolve: async (bridge, { strict }, context) =>
        (await mayReturnText(bridge, strict, context)) ? readConfig(bridge, context) : null,
    }),
    status: t.field({
      description: 'As its provider tells it: usually a list with one entry for each connection.',
      type: 'JSON',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (bridge, _args, context) =>
        (await mayAsk(bridge, context)) ? context.services.bridges.status(bridge) : null,
    }),
    connections: t.field({
      description: 'Of the status, what has a name, in the order of the configuration.',
      type: [BridgeConnectionType],
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (bridge, _args, context) => {
        if (!(await mayAsk(bridge, context))) return null;
        return [...walk(context, readConnections(await context.services.bridges.status(bridge)))];
      },
    }),
  }),
});

/** Reading takes up to a second for a million characters. Throws TOO_LARGE where a request reads too many. */
async function readConfig(bridge: BridgeView, context: RequestContext): Promise<unknown> {
  const budget = characterBudget(context);
  const config = await context.services.bridges.config(bridge, () => spendCharacters(budget, 0));
  spendCharacters(budget, sizeOf(config, budget.limit));
  return config;
}

/** Each is a question to the broker, of which a document may hold many. */
const mayAsk = async ({ api }: BridgeView, context: object): Promise<boolean> =>
  api === null || mayQueryBroker(context, false);

const mayReturnText = async (
  bridge: BridgeView,
  strict: boolean | null | undefined,
  context: object,
): Promise<boolean> => (bridge.api !== null || strict === true) && mayAsk(bridge, context);

builder.interfaceFields(Broker, (t) => ({
  bridges: t.field({
    description:
      'Those that this service runs, those that the broker has as plugins, and those that it has in its configuration file.',
    type: [Bridge],
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: (broker, _args, { services }) => services.bridges.list(broker),
  }),
  bridge: t.field({
    description: 'Null when the broker has no such bridge.',
    type: Bridge,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { id: t.arg.id({ description: 'As in `bridges`.', required: true }) },
    resolve: (broker, { id }, { services }) => services.bridges.find(broker, id),
  }),
}));
