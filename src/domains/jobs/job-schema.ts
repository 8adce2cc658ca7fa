import { builder, checkedByService } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { guarded } from '../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../gateway/graphql/live-event.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { belongsToBroker } from '../../gateway/graphql/type-scopes.ts';
import { walk } from '../../gateway/graphql/walk-limit.ts';
import { stateIn } from '../../gateway/live/broadcast.ts';
import type { JobKind, JobState } from '../../generated/sqlite/client.ts';
import { invalid } from '../../platform/errors.ts';
import { Broker } from '../brokers/broker-schema.ts';
import type { ListedJob } from './job.ts';
import type { JobEvent } from './job-service.ts';
import { MAX_ENDED } from './job-store.ts';

const JobKindType = describedEnum<JobKind>('JobKind', 'What a job does.', {
  STREAM_REPLAY: 'Publishes stored messages of a stream: `replayStream`.',
  RETAINED_DELETION: 'Deletes retained messages: `deleteRetainedMessages`.',
});

const JobStateType = describedEnum<JobState>('JobState', 'Whether a job runs.', {
  RUNNING: 'The job runs, or is continued within seconds if its process has just ended.',
  PAUSED: 'The job waits for the broker or for a process: see `problem`. It continues by itself.',
  DONE: 'The job has ended.',
  STOPPED: 'The job was stopped, or what it works on was deleted.',
  FAILED: 'The job cannot continue: see `problem`.',
});

const Job = builder.objectRef<ListedJob>('Job').implement({
  ...belongsToBroker(({ brokerId }: ListedJob) => brokerId),
  description: `Long work for a broker. If the process of the service that runs it ends, another one continues it, or the same after its restart. The last ${MAX_ENDED} ended jobs of a broker are stored.`,
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the job.' }),
    kind: t.expose('kind', { description: 'What the job does.', type: JobKindType }),
    broker: t.field({
      description: 'The broker that the job works on.',
      type: Broker,
      resolve: ({ brokerId }, _args, { services, viewer }) => services.brokers.visible(brokerId, viewer),
    }),
    streamName: t.string({
      description: 'STREAM_REPLAY: the name of the stream. Null otherwise.',
      nullable: true,
      resolve: (job, _args, { services }) => services.jobs.streamName(job),
    }),
    state: t.expose('state', { description: 'Whether the job runs.', type: JobStateType }),
    done: t.expose('done', {
      type: 'SafeInt',
      description:
        'STREAM_REPLAY: messages published from the start, without a gap. RETAINED_DELETION: deleted messages. At most a second old, and never decreasing.',
    }),
    total: t.expose('total', {
      type: 'SafeInt',
      description: 'STREAM_REPLAY: messages to publish. RETAINED_DELETION: topics found so far.',
    }),
    attempt: t.exposeInt('attempt', {
      description:
        'How often the job was started or continued by a process. Each time, up to a second of work may have been done twice.',
    }),
    problem: t.exposeString('problem', {
      description: 'Why the job is PAUSED or FAILED. Null if there is no problem.',
      nullable: true,
    }),
    startedAt: t.expose('startedAt', { description: 'Start of the job.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { description: 'When its progress was last stored.', type: 'DateTime' }),
    endedAt: t.expose('endedAt', {
      description: 'End of the job. Null while it has not ended.',
      type: 'DateTime',
      nullable: true,
    }),
  }),
});

findsNode('job', (id, { services, viewer }) => services.jobs.visible(id, viewer));

const JobEventType = builder.objectRef<JobEvent>('JobEvent').implement({
  description: 'First the job, then one event for each change, at most one per second between changes of its state.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    job: t.field({
      description: 'SNAPSHOT, CHANGE: the job.',
      type: Job,
      nullable: true,
      resolve: (event) => stateIn(event),
    }),
  }),
});

const JOB_ID = 'The id of a job, such as `StreamReplay.jobId` or `RetainedDeletion.jobId`.';
const ofVisible = checkedByService('VIEWER', { elsewhere: 'NOT_FOUND' });

builder.queryField('job', (t) =>
  t.field({
    description: 'Null, with NOT_FOUND, if there is no such job or the caller may not see its broker.',
    type: Job,
    nullable: true,
    args: { id: t.arg.id({ description: JOB_ID, required: true }) },
    ...ofVisible,
    resolve: (_root, { id }, { services, viewer }) => services.jobs.visible(id, viewer),
  }),
);

builder.subscriptionField('job', (t) =>
  t.field({
    description: resumable('The live progress of a job, in whichever process it runs. The events end with the job.'),
    type: JobEventType,
    args: { id: t.arg.id({ description: JOB_ID, required: true }), after: t.arg(resumeArgument) },
    ...ofVisible,
    subscribe: async (_root, { id, after }, context) => {
      const { jobs, brokers } = context.services;
      const job = await jobs.visible(id, context.viewer);
      return guarded(
        context,
        (viewer) => brokers.visible(job.brokerId, viewer),
        (signal) => jobs.watch(job, { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
);

const MAX_JOBS = 100;

builder.interfaceField(Broker, 'jobs', (t) =>
  t.field({
    description: `The newest jobs, newest first: running ones, and the last ${MAX_ENDED} that ended.`,
    type: [Job],
    args: {
      first: t.arg.int({ description: `Maximum number of jobs, 1 to ${MAX_JOBS}.`, defaultValue: MAX_ENDED }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? MAX_ENDED }),
    resolve: async ({ id }, { first }, context) => {
      const count = first ?? MAX_ENDED;
      if (count < 1 || count > MAX_JOBS) throw invalid([{ path: 'first', reason: `must be 1 to ${MAX_JOBS}` }]);
      return [...walk(context, await context.services.jobs.ofBroker(id, count))];
    },
  }),
);
