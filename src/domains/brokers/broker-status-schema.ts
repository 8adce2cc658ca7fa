import { builder, inProject } from '../../gateway/graphql/builder.ts';
import { guardedProject } from '../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../gateway/graphql/live-event.ts';
import { stateIn } from '../../gateway/live/broadcast.ts';
import { IS_CONNECTED } from './broker-descriptions.ts';
import { BrokerConnectionStatus, statusFor } from './broker-info-schema.ts';
import { Broker } from './broker-schema.ts';
import type { BrokerStatusChange, BrokerStatusEvent } from './broker-status-feed.ts';
import { CloudBrokerState, cloudStateOf } from './broker-types-schema.ts';

const BrokerStatus = builder.objectRef<BrokerStatusChange>('BrokerStatus').implement({
  description: 'The current state of a broker.',
  fields: (t) => ({
    brokerId: t.exposeID('brokerId', { description: 'Id of the broker, also after it was removed.' }),
    broker: t.expose('broker', { description: 'Null after the broker was removed.', type: Broker, nullable: true }),
    isConnected: t.boolean({
      description: IS_CONNECTED,
      resolve: ({ connection }) => connection.state === 'CONNECTED',
    }),
    connection: t.field({
      description: 'This service’s connection to the broker. CLOSED after the broker was removed.',
      type: BrokerConnectionStatus,
      resolve: ({ broker, connection }, _args, { viewer }) => statusFor(viewer, broker, connection),
    }),
    cloudState: t.field({
      description: 'The state of a broker that this service runs; null for other brokers.',
      type: CloudBrokerState,
      nullable: true,
      resolve: ({ broker }) => (broker?.type === 'CLOUD' ? cloudStateOf(broker) : null),
    }),
    isRemoved: t.boolean({
      description: 'Whether the broker was removed. `broker` is then null.',
      resolve: ({ broker }) => broker === null,
    }),
  }),
});

const StatusEvent = builder.objectRef<BrokerStatusEvent>('BrokerStatusEvent').implement({
  description: 'The first event has the state of all brokers of the project, each further event one change.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    brokers: t.field({
      description: 'SNAPSHOT: all brokers. CHANGE: the broker that changed.',
      type: [BrokerStatus],
      resolve: (event) => [stateIn(event) ?? []].flat(),
    }),
  }),
});

builder.subscriptionFields((t) => ({
  brokerStatus: t.field({
    description: resumable(
      'Connections, additions, changes of settings and removals of a project’s brokers, for the brokers that the caller may see.',
    ),
    type: StatusEvent,
    ...inProject('VIEWER'),
    args: {
      projectId: t.arg.id({ description: 'A project in which the caller has a role.', required: true }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { projectId, after }, context) => {
      const { services, viewer } = context;
      return guardedProject(context, projectId, services.brokers, (signal) =>
        services.runtimes.watchStatus(projectId, viewer?.brokers ?? null, { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
}));
