import {
  type BridgeLoop,
  type BridgeRejection,
  describeLoop,
} from '../../../data-plane/bridges/model/bridge-status.ts';
import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { findsNamedNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { sizeOf } from '../../../gateway/graphql/response-limit.ts';
import { knownTimeField, timeField } from '../../../gateway/graphql/time-field.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { characterBudget, mayQueryBroker, spendCharacters, walk } from '../../../gateway/graphql/walk-limit.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { ControlProvider } from '../../brokers/broker-info-schema.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { type BridgeConnectionView, type BridgeView, readConnections } from '../bridge-view.ts';
import type { SysBridgeOrigin } from '../sys-bridges.ts';

export const BridgeConnectionStateType = builder.enumType('BridgeConnectionState', {
  description: 'The state of a connection of a bridge.',
  values: {
    INACTIVE: { description: 'Switched off in the configuration.' },
    CONNECTING: { description: 'The first attempt to connect, or the first one after a change of the configuration.' },
    CONNECTED: { description: 'Messages are forwarded.' },
    UNAUTHORIZED: { value: 'UNAUTHORISED', description: 'The other side refuses the credentials.' },
    UNREACHABLE: { description: 'The other side, or the broker itself, is not connected; attempts continue.' },
    FAILED: { description: 'It cannot work with this configuration; the error has the reason.' },
  } as const,
});

const BridgeOriginType = describedEnum<SysBridgeOrigin>(
  'BridgeOrigin',
  'The broker whose configuration file contains a bridge that Mosquitto runs.',
  {
    OWN: 'This broker.',
    OTHER: 'Another broker, which connects to this one.',
    UNKNOWN: 'Not known: the log of the broker has not named it while this service was connected.',
  },
);

const NOT_REPORTED = 'Null if its provider does not report it.';
const reported = (description: string) => ({ description: `${description} ${NOT_REPORTED}`, nullable: true }) as const;

const Rejection = builder.objectRef<BridgeRejection>('BridgeRejection').implement({
  description: 'A message that cannot be delivered.',
  fields: (t) => ({
    at: knownTimeField(t, 'When it was rejected.', ({ at }) => at),
    reason: t.exposeString('reason', { description: 'The reason, without the content of the message.' }),
  }),
});

const Loop = builder.objectRef<BridgeLoop>('BridgeLoop').implement({
  description:
    'Equal messages that arrive again and again, at most with another prefix: probably, another bridge sends them back. A client that publishes the same message more than five times a second looks alike.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'The topic of the message by which it was noticed.' }),
    reason: t.string({ description: 'What happens, and what would end it.', resolve: describeLoop }),
    since: knownTimeField(t, 'When it was noticed.', ({ since }) => since),
    perSecond: t.exposeFloat('perSecond', {
      description: 'Messages that came back, on average over the last 10 seconds.',
    }),
    isStopped: t.exposeBoolean('isStopped', {
      description: 'Whether they are dropped: `stopsLoops` in the configuration of the connection.',
    }),
  }),
});

export const BridgeConnectionType = builder.objectRef<BridgeConnectionView>('BridgeConnectionStatus').implement({
  description:
    'The status of one connection of a bridge. Counters start when the process that runs the bridge starts it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name in the configuration.' }),
    isConnected: t.exposeBoolean('isConnected', { description: 'Whether both sides are connected.' }),
    state: t.expose('state', { ...reported('The state of the connection.'), type: BridgeConnectionStateType }),
    since: timeField(t, `The time of the last change of state. ${NOT_REPORTED}`, ({ since }) => since),
    error: t.exposeString('error', {
      description: 'The last error in the current state. Null if there is none.',
      nullable: true,
    }),
    queuedMessages: t.expose('queuedMessages', {
      ...reported('Messages received and not yet delivered.'),
      type: 'SafeInt',
    }),
    queuedBytes: t.expose('queuedBytes', { ...reported('The total size of these messages.'), type: 'SafeInt' }),
    received: t.expose('received', { ...reported('Messages received.'), type: 'SafeInt' }),
    delivered: t.expose('delivered', { ...reported('Messages delivered to the other side.'), type: 'SafeInt' }),
    dropped: t.expose('dropped', {
      ...reported('Messages dropped because the queue was full, they expired in it, or they came back in a loop.'),
      type: 'SafeInt',
    }),
    returned: t.expose('returned', {
      ...reported('Messages of loops that came back. They are forwarded again, or dropped.'),
      type: 'SafeInt',
    }),
    loop: t.expose('loop', {
      description: 'The loop that was noticed last. Null if no message came back in the last 10 seconds.',
      type: Loop,
      nullable: true,
    }),
    rejected: t.expose('rejected', { ...reported('Messages that cannot be delivered.'), type: 'SafeInt' }),
    lastRejection: t.expose('lastRejection', {
      description: 'The last rejected message. Null if there was none, or its provider does not report it.',
      type: Rejection,
      nullable: true,
    }),
  }),
});

const NOT_OVER_MQTT = 'Null for a bridge that Mosquitto runs from its configuration file';
const STRICT = 'Whether to return the error NOT_SUPPORTED_BY_BROKER, with a solution, instead of null.';

/** The global id of a bridge. */
export const bridgeIdOf = ({ id }: Pick<BrokerRecord, 'id'>, key: string): string =>
  namedNodeId({ kind: 'bridge', brokerId: id, name: key });

export const Bridge = builder.objectRef<BridgeView>('Bridge').implement({
  ...withBroker,
  description: 'Forwards messages between a broker and another system.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Depends on the broker and the key only.',
      resolve: ({ broker, key }) => bridgeIdOf(broker, key),
    }),
    key: t.exposeString('key', {
      description:
        'Unique among the bridges of the broker: `mqtt-bridge`, or `connection-<client id>` for a bridge that Mosquitto runs.',
    }),
    name: t.exposeString('name', { description: 'The display name.' }),
    broker: t.expose('broker', { description: 'The broker of the bridge.', type: Broker }),
    provider: t.expose('provider', {
      description: 'Whether the broker or this service runs it.',
      type: ControlProvider,
    }),
    isActive: t.exposeBoolean('isActive', {
      description:
        'Whether it is configured: with connections, as a plugin in the configuration file of the broker, or as a connection that was not removed.',
    }),
    isConfigurable: t.boolean({
      description: 'False if Mosquitto runs it from its configuration file, and reports only whether it is connected.',
      resolve: ({ api }) => api !== null,
    }),
    origin: t.field({
      description: 'Whose configuration file contains a bridge that Mosquitto runs; null for other bridges.',
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
        (await isConfigurable(bridge, strict, context)) ? context.services.bridges.schema(bridge) : null,
    }),
    config: t.field({
      description: `The whole configuration, with \`***\` for each secret. ${NOT_OVER_MQTT}.`,
      type: 'JSON',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      args: { strict: t.arg.boolean({ description: STRICT, defaultValue: false }) },
      resolve: async (bridge, { strict }, context) =>
        (await isConfigurable(bridge, strict, context)) ? readConfig(bridge, context) : null,
    }),
    status: t.field({
      description: 'As its provider reports it: usually a list with one entry for each connection.',
      type: 'JSON',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (bridge, _args, context) =>
        (await mayAsk(bridge, context)) ? context.services.bridges.status(bridge) : null,
    }),
    connections: t.field({
      description: 'The connections in the status that have a name, in the order of the configuration.',
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

findsNamedNode('bridge', (broker, key, { services }) => services.bridges.find(broker, key));

/** Throws TOO_LARGE if a request reads too many configurations: a million characters take up to a second. */
async function readConfig(bridge: BridgeView, context: RequestContext): Promise<unknown> {
  const budget = characterBudget(context);
  const config = await context.services.bridges.config(bridge, () => spendCharacters(budget, 0));
  spendCharacters(budget, sizeOf(config, budget.limit));
  return config;
}

/** Each call is a command to the broker, and a document may contain many. */
const mayAsk = async ({ api }: BridgeView, context: object): Promise<boolean> =>
  api === null || mayQueryBroker(context, false);

const isConfigurable = async (
  bridge: BridgeView,
  strict: boolean | null | undefined,
  context: object,
): Promise<boolean> => (bridge.api !== null || strict === true) && mayAsk(bridge, context);

builder.interfaceFields(Broker, (t) => ({
  bridges: t.field({
    description: 'Bridges that this service runs, plugins of the broker, and bridges of its configuration file.',
    type: [Bridge],
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: (broker, _args, { services }) => services.bridges.list(broker),
  }),
  bridge: t.field({
    description: 'Null if the broker has no such bridge.',
    type: Bridge,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { key: t.arg.string({ description: 'The key of the bridge at this broker.', required: true }) },
    resolve: (broker, { key }, { services }) => services.bridges.find(broker, key),
  }),
}));
