import { builder } from '../../../gateway/graphql/builder.ts';
import type { ErrorCode, ServiceError } from '../../../platform/errors.ts';
import type {
  BlastRadius as BlastRadiusData,
  CHANGE_OUTCOMES,
  ChangeReport,
  CommandReport,
  NodeReport,
} from '../writing/access-report.ts';

export const ChangeOutcome = builder.enumType('ChangeOutcome', {
  description: 'What became of a change.',
  values: {
    APPLIED: { description: 'The broker has done it.' },
    UNCHANGED: { description: 'It was so already; nothing was sent.' },
    PARTLY_APPLIED: { description: 'The commands say which part.' },
    REJECTED: { description: 'Nothing of it happened; the error says why.' },
    UNKNOWN: { description: 'The answer was lost, and the broker could not be read back.' },
    PLANNED: { description: 'A dry run; nothing was sent.' },
  } as const satisfies Record<(typeof CHANGE_OUTCOMES)[number], object>,
});

const CommandState = builder.enumType('CommandState', {
  description: 'What became of a command.',
  values: {
    PLANNED: { description: 'A dry run; nothing was sent.' },
    APPLIED: { description: 'The broker has done it.' },
    REJECTED: { description: 'The broker refused it.' },
    UNKNOWN: { description: 'The answer was lost, and the broker could not be read back.' },
    NOT_SENT: { description: 'Something before it failed.' },
  } as const,
});

/** An error as the value of a field: an instance of Error would fail the field. */
interface Reason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly info: Readonly<Record<string, unknown>> | null;
}

const reasonOf = (error: ServiceError | null): Reason | null =>
  error && { code: error.code, message: error.message, info: error.info ?? null };

const ChangeError = builder.objectRef<Reason>('ChangeError').implement({
  description: 'Why a change did not happen.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'As in the errors of the graph.' }),
    message: t.exposeString('message', { description: 'For people.' }),
    info: t.expose('info', { type: 'JSON', nullable: true }),
  }),
});

export const AccessCommand = builder.objectRef<CommandReport>('AccessCommand').implement({
  description: 'A command of the dynamic-security API that a change is made of.',
  fields: (t) => ({
    command: t.exposeString('command'),
    fields: t.field({ description: 'As sent, passwords masked.', type: 'JSON', resolve: ({ fields }) => fields }),
    state: t.field({ type: CommandState, resolve: ({ state }) => state }),
    error: t.field({ type: ChangeError, nullable: true, resolve: ({ error }) => reasonOf(error) }),
  }),
});

export const AccessChangeReport = builder.objectRef<ChangeReport>('AccessChangeReport').implement({
  description: 'What became of one change of several.',
  fields: (t) => ({
    outcome: t.field({ type: ChangeOutcome, resolve: ({ outcome }) => outcome }),
    commands: t.field({ type: [AccessCommand], resolve: ({ commands }) => [...commands] }),
    error: t.field({ type: ChangeError, nullable: true, resolve: ({ error }) => reasonOf(error) }),
  }),
});

const KickedClient = builder.objectRef<BlastRadiusData['clients'][number]>('KickedClient').implement({
  description: 'A connection that is disconnected.',
  fields: (t) => ({
    clientId: t.exposeString('clientId'),
    username: t.exposeString('username', { description: 'Null: it gave none.', nullable: true }),
  }),
});

export const BlastRadius = builder.objectRef<BlastRadiusData>('BlastRadius').implement({
  description: 'Connections that a change disconnects: most changes make the broker drop those whom they concern.',
  fields: (t) => ({
    clientCount: t.int({ resolve: ({ clients }) => clients.length }),
    clients: t.field({ type: [KickedClient], resolve: ({ clients }) => [...clients] }),
    usernames: t.stringList({
      description: 'Accounts whose connections are disconnected, whether they have any now or not.',
      resolve: ({ usernames }) => [...usernames],
    }),
    anonymous: t.exposeBoolean('anonymous', {
      description: 'Every connection without user name is disconnected too.',
    }),
    gateway: t.exposeBoolean('gateway', { description: 'This service’s own connection is among them; it comes back.' }),
    isComplete: t.exposeBoolean('isComplete', {
      description: 'False: the broker cannot tell all of its connected clients.',
    }),
  }),
});

const AccessNodeReport = builder.objectRef<NodeReport>('AccessNodeReport').implement({
  description: 'What became of changes on one node of a cluster.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'Of the node.' }),
    brokerId: t.exposeID('brokerId', { description: 'The entry of the node.' }),
    outcome: t.field({
      description: 'REJECTED: not done; where the node was not reached it is as soon as that is.',
      type: ChangeOutcome,
      resolve: ({ outcome }) => outcome,
    }),
    error: t.field({
      description: 'Why it was not done; null: it was.',
      type: ChangeError,
      nullable: true,
      resolve: ({ error }) => reasonOf(error),
    }),
  }),
});

type NodesFields<T> = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], T>;

/** What a report of several brokers tells beside that of the first. */
export const nodesField = <T extends { readonly nodes?: readonly NodeReport[] | undefined }>(t: NodesFields<T>) => ({
  nodes: t.field({
    description: 'Of a cluster whose nodes this service keeps equal: what became of it on each, by number. Else empty.',
    type: [AccessNodeReport],
    resolve: ({ nodes = [] }) => [...nodes],
  }),
});

type ReportFields<T extends ChangeReport> = PothosSchemaTypes.ObjectFieldBuilder<
  (typeof builder)['$inferSchemaTypes'],
  T & { readonly blastRadius: BlastRadiusData; readonly nodes?: readonly NodeReport[] | undefined }
>;

/** What every mutation of one object tells beside the object. */
export const reportFields = <T extends ChangeReport>(t: ReportFields<T>) => ({
  outcome: t.field({
    description: 'APPLIED, UNCHANGED, PARTLY_APPLIED, UNKNOWN or, of a dry run, PLANNED.',
    type: ChangeOutcome,
    resolve: ({ outcome }) => outcome,
  }),
  commands: t.field({ type: [AccessCommand], resolve: ({ commands }) => [...commands] }),
  error: t.field({
    description: 'With PARTLY_APPLIED: why the rest did not happen.',
    type: ChangeError,
    nullable: true,
    resolve: ({ error }) => reasonOf(error),
  }),
  blastRadius: t.field({ type: BlastRadius, resolve: ({ blastRadius }) => blastRadius }),
  ...nodesField(t),
});
