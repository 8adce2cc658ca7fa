import { builder, type OutputFields } from '../../../gateway/graphql/builder.ts';
import { errorField } from '../../../gateway/graphql/change-error.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import type {
  BlastRadius as BlastRadiusData,
  CHANGE_OUTCOMES,
  ChangeReport,
  CommandReport,
  NodeReport,
  WriteReport,
} from '../writing/access-report.ts';

const ChangeOutcome = describedEnum<(typeof CHANGE_OUTCOMES)[number]>('ChangeOutcome', 'The outcome of a change.', {
  APPLIED: 'The broker executed the change.',
  UNCHANGED: 'The broker already had this state; no command was sent.',
  PARTLY_APPLIED: 'The states of the commands show which part was executed.',
  REJECTED: 'No part was executed; the error says why.',
  UNKNOWN: 'The response was lost, and the result could not be read back.',
  PLANNED: 'A dry run; no command was sent.',
});

const CommandState = describedEnum('CommandState', 'The state of a command.', {
  PLANNED: 'A dry run; the command was not sent.',
  APPLIED: 'The broker executed the command.',
  REJECTED: 'The broker refused the command.',
  UNKNOWN: 'The response was lost, and the result could not be read back.',
  NOT_SENT: 'An earlier command failed.',
});

const COMMANDS = 'The commands of the change, in the order of execution. Empty if none was necessary or allowed.';

const AccessCommand = builder.objectRef<CommandReport>('AccessCommand').implement({
  description: 'A command of the dynamic-security API that is part of a change.',
  fields: (t) => ({
    command: t.exposeString('command', { description: 'The name of the command, such as `createClient`.' }),
    fields: t.field({
      description: 'The fields as sent, with masked passwords.',
      type: 'JSON',
      resolve: ({ fields }) => fields,
    }),
    state: t.expose('state', { description: 'Whether the broker executed the command.', type: CommandState }),
    error: errorField(t, 'Why the command failed or its result is unknown; otherwise `null`.'),
  }),
});

const AccessChangeReport = builder.objectRef<ChangeReport>('AccessChangeReport').implement({
  description: 'The outcome of one change in a list.',
  fields: (t) => ({
    outcome: t.expose('outcome', { description: 'How much of the change the broker executed.', type: ChangeOutcome }),
    commands: t.field({ description: COMMANDS, type: [AccessCommand], resolve: ({ commands }) => [...commands] }),
    error: errorField(
      t,
      'Why the change or a part of it was not executed, or why its result is unknown; otherwise `null`.',
    ),
  }),
});

const KickedClient = builder.objectRef<BlastRadiusData['clients'][number]>('KickedClient').implement({
  description: 'A connection that is disconnected.',
  fields: (t) => ({
    clientId: t.exposeString('clientId', { description: 'The MQTT client id of the connection.' }),
    username: t.exposeString('username', { description: 'null: the client has no user name.', nullable: true }),
  }),
});

const BlastRadius = builder.objectRef<BlastRadiusData>('BlastRadius').implement({
  description:
    'The connections that a change closes, of a cluster on all nodes. Most changes disconnect the affected clients.',
  fields: (t) => ({
    clientCount: t.int({ description: 'Number of `clients`.', resolve: ({ clients }) => clients.length }),
    clients: t.field({
      description: 'The connections, sorted by user name; those without a user name are last.',
      type: [KickedClient],
      resolve: ({ clients }) => [...clients],
    }),
    usernames: t.stringList({
      description: 'Accounts whose connections are closed, including accounts without connections.',
      resolve: ({ usernames }) => [...usernames],
    }),
    anonymous: t.exposeBoolean('anonymous', {
      description: 'Whether all connections without a user name are closed.',
    }),
    gateway: t.exposeBoolean('gateway', {
      description: 'Whether the connection of this service is closed, too. It reconnects.',
    }),
    isComplete: t.exposeBoolean('isComplete', {
      description:
        'Whether `clients` has all of them. false: the broker, or a node of the cluster, cannot list all connected clients or was not reached.',
    }),
  }),
});

const AccessNodeReport = builder.objectRef<NodeReport>('AccessNodeReport').implement({
  description: 'The outcome of changes on one node of a cluster.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'Number of the node.' }),
    brokerId: t.exposeID('brokerId', { description: 'The broker of the node.' }),
    outcome: t.expose('outcome', {
      description: 'REJECTED: not executed. An unreachable node gets the changes after it reconnects.',
      type: ChangeOutcome,
    }),
    error: errorField(t, 'Why the changes were not executed. null: they were.'),
  }),
});

const BLAST_RADIUS = 'The connections that the broker closes because of the commands; in a dry run: would close.';

export const nodesField = <T extends { readonly nodes?: readonly NodeReport[] | undefined }>(t: OutputFields<T>) => ({
  nodes: t.field({
    description:
      'The outcome on each node, by number, if this service synchronizes the nodes of a cluster. Else empty.',
    type: [AccessNodeReport],
    resolve: ({ nodes = [] }) => [...nodes],
  }),
});

export const writeReportFields = <T extends Pick<WriteReport, 'outcome' | 'changes' | 'blastRadius'>>(
  t: OutputFields<T>,
  description: string,
) => ({
  outcome: t.field({
    description: 'The worst outcome of all changes.',
    type: ChangeOutcome,
    resolve: ({ outcome }) => outcome,
  }),
  changes: t.field({ description, type: [AccessChangeReport], resolve: ({ changes }) => [...changes] }),
  blastRadius: t.field({ description: BLAST_RADIUS, type: BlastRadius, resolve: ({ blastRadius }) => blastRadius }),
});

type ReportFields<T extends ChangeReport> = OutputFields<
  T & { readonly blastRadius: BlastRadiusData; readonly nodes?: readonly NodeReport[] | undefined }
>;

export const reportFields = <T extends ChangeReport>(t: ReportFields<T>) => ({
  outcome: t.field({
    description: 'APPLIED, UNCHANGED, PARTLY_APPLIED, UNKNOWN or, for a dry run, PLANNED.',
    type: ChangeOutcome,
    resolve: ({ outcome }) => outcome,
  }),
  commands: t.field({ description: COMMANDS, type: [AccessCommand], resolve: ({ commands }) => [...commands] }),
  error: errorField(t, 'With PARTLY_APPLIED: why the other commands were not executed.'),
  blastRadius: t.field({ description: BLAST_RADIUS, type: BlastRadius, resolve: ({ blastRadius }) => blastRadius }),
  ...nodesField(t),
});
