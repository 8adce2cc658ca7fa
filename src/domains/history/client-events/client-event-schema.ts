import { isSelective } from '../../../data-plane/history/client-events/event-pages.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { seesWholeProject } from '../../../platform/auth/viewer.ts';
import { AuditEvent } from '../../audit/audit-schema.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ClientProtocol } from '../../clients/graph/client-parts-schema.ts';
import { Project } from '../../projects/project-schema.ts';
import { RefusalType } from '../../refusals/refusal-schema.ts';
import { viewOf } from '../../refusals/refusal-view.ts';
import { ClientEndReasonType, ClientEventKindType, EventGapReasonType } from './client-event-enums.ts';
import {
  type ClientEventArguments,
  type ClientEventConnection,
  type ClientEventView,
  type EventGapView,
  MAX_EVENTS,
} from './client-event-service.ts';

const ClientEventType = builder.objectRef<ClientEventView>('ClientEvent').implement({
  ...withBroker,
  description:
    'Something that happened to a client of a broker. Names are truncated to 256 characters. Fields that the broker does not report are null.',
  fields: (t) => ({
    broker: t.field({ description: 'Where it happened.', type: Broker, resolve: ({ broker }) => broker }),
    at: knownTimeField(
      t,
      'The time at which the broker or, without such a time, this service noticed it.',
      ({ event }) => event.at,
    ),
    kind: t.field({ description: 'What happened.', type: ClientEventKindType, resolve: ({ event }) => event.kind }),
    clientId: t.string({
      description: 'The MQTT client id.',
      nullable: true,
      resolve: ({ event }) => event.clientId,
    }),
    username: t.string({
      description: 'The user name, which is the name of the account. null: the client sent none, or it is unknown.',
      nullable: true,
      resolve: ({ event }) => event.username,
    }),
    address: t.string({
      description: 'The IP address of the client.',
      nullable: true,
      resolve: ({ event }) => event.address,
    }),
    listenerPort: t.int({
      description: 'The port of the listener that the client used.',
      nullable: true,
      resolve: ({ event }) => event.listenerPort,
    }),
    protocol: t.field({
      description: 'The protocol of the connection. null for refusals, and if the broker does not report it.',
      type: ClientProtocol,
      nullable: true,
      resolve: ({ event }) => event.protocol,
    }),
    reason: t.field({
      description: 'DISCONNECTED: why. null if the broker only lists its clients.',
      type: ClientEndReasonType,
      nullable: true,
      resolve: ({ event }) => event.reason,
    }),
    detail: t.string({
      description: 'Further details in the words of the broker.',
      nullable: true,
      resolve: ({ event }) => event.detail,
    }),
    count: t.int({
      description: 'Number of equal refusals that this event stands for: those of about a second. Otherwise 1.',
      resolve: ({ event }) => event.count,
    }),
    refusal: t.field({
      description:
        'REFUSED, LIMIT_EXCEEDED and CLIENT_ID_CONFLICT: what was refused, with the deciding rule, as it was then.',
      type: RefusalType,
      nullable: true,
      resolve: ({ broker, event }) => event.refusal && viewOf(broker, event.refusal),
    }),
    operation: t.field({
      description:
        'DISCONNECTED by ADMINISTRATOR: the entry of the audit if this service disconnected the client, also by a change of its access control. null for callers who may not read the audit of the project.',
      type: AuditEvent,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: (view, _args, { services, viewer }) =>
        seesWholeProject(viewer, view.broker.projectId, 'ADMIN')
          ? services.clientEvents.operationOf(view, services.clusters.brokerIdsTogether(view.broker, viewer))
          : null,
    }),
  }),
});

const EventGapType = builder.objectRef<EventGapView>('ClientEventGap').implement({
  description: 'A time for which events of clients may be missing.',
  fields: (t) => ({
    broker: t.field({
      description: 'Whose events may be missing. null: those of all brokers.',
      type: Broker,
      nullable: true,
      resolve: ({ broker }) => broker,
    }),
    from: knownTimeField(t, 'The beginning.', ({ gap }) => gap.from),
    to: knownTimeField(t, 'The end.', ({ gap }) => gap.at),
    reason: t.field({ description: 'The cause.', type: EventGapReasonType, resolve: ({ gap }) => gap.reason }),
    detail: t.string({
      description: 'What was lost, if it is known.',
      nullable: true,
      resolve: ({ gap }) => gap.detail,
    }),
  }),
});

const ClientEventFilter = builder.inputType('ClientEventFilter', {
  description: 'Events that match all given conditions. Client ids and user names are compared exactly.',
  fields: (t) => ({
    kinds: t.field({ description: 'Only events of these kinds.', type: [ClientEventKindType] }),
    clientId: t.string({ description: 'Only events of this client.' }),
    username: t.string({ description: 'Only events of clients with this user name.' }),
    address: t.string({ description: 'Only events of clients with this IP address.' }),
    listenerPort: t.int({ description: 'Only events of connections to this port of the broker.' }),
    protocol: t.field({ description: 'Only events of connections with this protocol.', type: ClientProtocol }),
    reasons: t.field({ description: 'Only ends of connections for these reasons.', type: [ClientEndReasonType] }),
    from: t.field({ description: 'Earliest time (inclusive).', type: 'DateTime' }),
    to: t.field({ description: 'Latest time (inclusive).', type: 'DateTime' }),
  }),
});

const LISTED =
  'The broker only lists its clients: connections that began and ended between two lists, within seconds, are missing';

const ClientEventConnectionType = builder.connectionObject(
  {
    name: 'ClientEventConnection',
    description: `A page of events, the newest first: at most ${MAX_EVENTS.toLocaleString('en')} entries, 50 by default. With conditions other than the client, the account and the time, a page searches 200,000 events; it may have fewer entries than requested, and \`endCursor\` continues the search.`,
    type: ClientEventType,
    fields: (t) => ({
      since: t.field({
        description: 'Since when events are recorded, of all these brokers. null: those of one never were.',
        type: 'DateTime',
        nullable: true,
        resolve: async (page) => dateOf((await connectionOf(page).readCoverage()).since),
      }),
      isComplete: t.boolean({
        description: 'Whether no event of the requested time is missing since `since`.',
        resolve: async (page) => {
          const { readCoverage, readGaps } = connectionOf(page);
          const [{ since, isListed }, gaps] = await Promise.all([readCoverage(), readGaps()]);
          return since !== null && !isListed && gaps.length === 0;
        },
      }),
      incompleteReason: t.string({
        description: 'Why `isComplete` is false although there are no `gaps`.',
        nullable: true,
        resolve: async (page) => {
          const { since, isListed } = await connectionOf(page).readCoverage();
          if (since === null) return 'The events of a broker were never recorded';
          return isListed ? LISTED : null;
        },
      }),
      gaps: t.field({
        description: 'The times for which events may be missing, the newest first, at most 100.',
        type: [EventGapType],
        resolve: async (page) => [...(await connectionOf(page).readGaps())],
      }),
    }),
  },
  { name: 'ClientEventEdge', description: 'An event and its cursor.' },
);

/** Pothos does not know the further properties of a connection. */
const connectionOf = (page: object) => page as ClientEventConnection;

const dateOf = (time: number | null): Date | null => (time === null ? null : new Date(time));

const FILTER = { description: 'Default: all events.', type: ClientEventFilter };

type FilterInput = typeof ClientEventFilter.$inferInput;

const argumentsOf = ({
  filter,
  ...page
}: Omit<ClientEventArguments, 'filter'> & {
  readonly filter?: FilterInput | null | undefined;
}): ClientEventArguments => ({
  ...page,
  filter: filter && { ...filter, from: filter.from?.getTime(), to: filter.to?.getTime() },
});

/** Searching 200,000 events takes some hundred milliseconds in the thread of the history. */
const SEARCH_COST = 1_000;

/** `usual`: cost of a page without a search. */
const costOf =
  (usual: number) =>
  ({ filter, ...page }: { readonly filter?: FilterInput | null | undefined } & Parameters<typeof pageCost>[0]) => ({
    ...pageCost(page),
    field: isSelective(argumentsOf({ filter }).filter ?? {}) ? usual : SEARCH_COST,
  });

builder.interfaceFields(Broker, (t) => ({
  clientEvents: t.connection(
    {
      description:
        'What happened to the clients of the broker, from the history. The broker is not asked, so it may be unreachable.',
      type: ClientEventType,
      complexity: costOf(BROKER_QUERY_COST),
      args: { filter: t.arg(FILTER) },
      resolve: (broker, args, { services }) => services.clientEvents.page([broker], argumentsOf(args)),
    },
    ClientEventConnectionType,
  ),
  clientHistory: t.connection(
    {
      description: 'What happened to one client, also if it never was connected.',
      type: ClientEventType,
      complexity: (args) => ({ ...pageCost(args), field: BROKER_QUERY_COST }),
      args: { clientId: t.arg.string({ description: 'The exact MQTT client id.', required: true }) },
      resolve: (broker, { clientId, ...page }, { services }) =>
        services.clientEvents.page([broker], { ...page, filter: { clientId } }),
    },
    ClientEventConnectionType,
  ),
}));

/** Each broker is searched. */
const PROJECT_COST = 500;

builder.prismaObjectFields(Project, (t) => ({
  clientEvents: t.connection(
    {
      description: 'What happened to the clients of all brokers of the project that the caller may see.',
      type: ClientEventType,
      complexity: costOf(PROJECT_COST),
      args: { filter: t.arg(FILTER) },
      resolve: ({ id }, args, { services, viewer }) =>
        services.clientEvents.page(services.brokers.visibleIn(id, viewer), argumentsOf(args)),
    },
    ClientEventConnectionType,
  ),
}));
