import { builder, rootAdmin } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { inputArgument } from '../../gateway/graphql/payloads.ts';
import { isEngine } from '../../protocol/hosting/broker-engine.ts';
import { CloudBrokerEngine } from '../brokers/broker-types-schema.ts';
import type { ServiceProcess } from './process-service.ts';

const Role = describedEnum('ProcessRole', 'What a process of the service does.', {
  ALL: 'Requests of clients, and streams, bridges and topics of its brokers.',
  API: 'Requests of clients only.',
  WORKER: 'Streams, bridges and topics of its brokers only.',
});

const Process = builder.objectRef<ServiceProcess>('ServiceProcess').implement({
  description: 'A process of the service. With PostgreSQL there may be several.',
  fields: (t) => ({
    processId: t.exposeID('id', { description: 'Id of the process, which is new at each start.' }),
    host: t.exposeString('host', { description: 'Name of its machine.' }),
    version: t.exposeString('version', { description: 'Version of the service.' }),
    commit: t.exposeString('commit', {
      nullable: true,
      description: 'Commit of its build, with the suffix `-dirty` if files differed from it. Null if it is unknown.',
    }),
    builtAt: t.expose('builtAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was built. Null if it is unknown.',
    }),
    role: t.expose('role', { type: Role, description: 'What it does.' }),
    engines: t.field({
      description: 'Engines with which the process can run brokers. Empty if it runs none.',
      type: [CloudBrokerEngine],
      resolve: ({ engines }) => engines.filter(isEngine),
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it was started.' }),
    isAlive: t.exposeBoolean('isAlive', {
      description: 'Whether it is connected to the database. Others take over its brokers within seconds if it is not.',
    }),
    isDraining: t.exposeBoolean('isDraining', { description: 'Whether it gives all its brokers to other processes.' }),
    isSelf: t.exposeBoolean('isSelf', { description: 'Whether it is the process that serves this request.' }),
    brokerCount: t.exposeInt('brokers', {
      nullable: true,
      description:
        'Number of brokers whose streams, bridges and topics run in the process, at most ten seconds old. Null if it is the only process.',
    }),
    messagesPerSecond: t.exposeFloat('messagesPerSecond', {
      nullable: true,
      description: 'Messages per second that these brokers receive, as far as they publish it. Null as above.',
    }),
  }),
});

builder.queryFields((t) => ({
  processes: t.field({
    description: 'The processes of the service, oldest first.',
    type: [Process],
    ...rootAdmin,
    resolve: (_root, _args, { services }) => services.processes.list(),
  }),
}));

const DrainInput = builder.inputType('DrainProcessInput', {
  description: 'A process, and whether it is to be drained.',
  fields: (t) => ({
    processId: t.id({ required: true, description: 'Id of the process.' }),
    isDraining: t.boolean({
      defaultValue: true,
      description: 'False: it gets brokers again. Default: true.',
    }),
  }),
});

const DrainPayload = builder.objectRef<ServiceProcess>('DrainProcessPayload').implement({
  description: 'The changed process.',
  fields: (t) => ({
    process: t.field({ type: Process, description: 'The process after the change.', resolve: (process) => process }),
  }),
});

builder.mutationFields((t) => ({
  drainProcess: t.field({
    description:
      'Moves the brokers of a process to others, for maintenance: their streams and bridges end there when messages in progress are done, and continue elsewhere. The process serves requests as before. INVALID if it is the only process.',
    type: DrainPayload,
    ...rootAdmin,
    args: inputArgument(DrainInput, 'The process.'),
    resolve: (_root, { input }, { services }) =>
      services.processes.setDraining(input.processId, input.isDraining ?? true),
  }),
}));
