import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { errorField } from '../../../gateway/graphql/change-error.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { knownTimeField, timeField } from '../../../gateway/graphql/time-field.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { DELETION_STATUSES, type DeletionStatus, MAX_RESULTS, type TopicResult } from '../retained/deletion-entries.ts';
import { MAX_DELETED_TOPICS } from '../retained/deletion-input.ts';
import type { DeletionProgress, DeletionState } from '../retained/retained-deletion.ts';
import type { DeletionEvent, DeletionReport } from '../retained/retained-deletions.ts';

const STATUSES: Readonly<Record<DeletionStatus, string>> = {
  DELETED: 'The broker has no retained message on the topic any more.',
  WOULD_DELETE: 'A dry run: the topic has a retained message.',
  REMAINS:
    'The topic has a retained message: its deletion was not sent, the broker ignored it, or a client published it again.',
  REFUSED: 'The broker refused the deletion: see `error`.',
  UNKNOWN: 'The deletion was sent, and neither acknowledged nor checked.',
  ACKNOWLEDGED:
    'The broker acknowledged the deletion, and it could not be checked. A broker that was killed may have restored the message.',
  NOT_FOUND: 'The topic had no retained message.',
};

const RetainedDeletionStatus = builder.enumType('RetainedDeletionStatus', {
  description: 'The result of a deletion for one topic.',
  values: Object.fromEntries(DELETION_STATUSES.map((status) => [status, { description: STATUSES[status] }])) as Record<
    DeletionStatus,
    object
  >,
});

const RetainedDeletionState = describedEnum<DeletionState>('RetainedDeletionState', 'Whether a deletion runs.', {
  READING: 'Retained messages are read from the broker, to find or to check them.',
  DELETING: 'Deletions are sent to the broker.',
  WAITING:
    'The broker is not connected, or the process that deletes ends. The deletion continues if the broker returns within a minute.',
  DONE: 'The deletion has ended. The counts show what was deleted.',
  FAILED: 'The deletion has ended early: see `problem`. The counts show what was deleted.',
});

const RetainedTopicResult = builder.objectRef<TopicResult>('RetainedTopicResult').implement({
  description: 'The result of a deletion for one topic.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'Name of the topic, without wildcards.' }),
    status: t.expose('status', { description: 'Whether the message was deleted.', type: RetainedDeletionStatus }),
    error: errorField(t, 'Why the broker refused the deletion. For the first 100, `info` names the rule that decided.'),
  }),
});

const RetainedDeletion = builder.objectRef<DeletionProgress>('RetainedDeletion').implement({
  description: 'A running deletion of retained messages, or the last one.',
  fields: (t) => {
    const count = (status: DeletionStatus) =>
      t.int({
        description: `Number of topics with the status ${status}.`,
        resolve: ({ counts }) => counts[status],
      });
    return {
      jobId: t.exposeID('jobId', { description: 'The id of its `job`.' }),
      state: t.expose('state', { description: 'Whether the deletion runs.', type: RetainedDeletionState }),
      isDryRun: t.exposeBoolean('isDryRun', { description: 'Whether nothing is deleted.' }),
      filter: t.exposeString('filter', { description: 'The filter. Null if topics were given.', nullable: true }),
      total: t.exposeInt('total', { description: 'Number of topics, the sum of all counts.' }),
      deletedCount: count('DELETED'),
      wouldDeleteCount: count('WOULD_DELETE'),
      remainingCount: count('REMAINS'),
      refusedCount: count('REFUSED'),
      unknownCount: count('UNKNOWN'),
      acknowledgedCount: count('ACKNOWLEDGED'),
      notFoundCount: count('NOT_FOUND'),
      isComplete: t.exposeBoolean('isComplete', {
        description:
          'Whether all matching messages are known, and the broker was read completely after the last deletion. False while the deletion runs.',
      }),
      interruptions: t.exposeInt('interruptions', {
        description: 'Number of times that the connection to the broker was lost.',
      }),
      problem: t.exposeString('problem', {
        description: 'Why the deletion waits or failed. Null if there is no problem.',
        nullable: true,
      }),
      startedAt: knownTimeField(t, 'Start of the deletion.', ({ startedAt }) => startedAt),
      endedAt: timeField(t, 'End of the deletion. Null while it runs.', ({ endedAt }) => endedAt),
      results: t.field({
        description: `Results of single topics, at most ${MAX_RESULTS}. Topics that were not deleted come first. Subscriptions leave out results beyond 256 KiB. Empty while the deletion runs.`,
        type: [RetainedTopicResult],
        resolve: ({ results }) => [...results],
      }),
    };
  },
});

const DeleteRetainedMessagesInput = builder.inputType('DeleteRetainedMessagesInput', {
  description: 'The retained messages to delete. Exactly one of `filter` and `topics` is required.',
  fields: (t) => ({
    brokerId: t.id({ description: 'A broker in a project where the caller has EDITOR.', required: true }),
    projectId: t.id({ description: 'If set, the broker must be in this project.' }),
    filter: t.string({
      description: 'Deletes all that match this MQTT topic filter: `plant/#` is a branch. Not of topics with `$`.',
    }),
    topics: t.stringList({ description: `Topic names without wildcards, at most ${MAX_DELETED_TOPICS}.` }),
    dryRun: t.boolean({
      description: 'Delete nothing, and return what would be deleted. Permissions are not checked.',
      defaultValue: false,
    }),
  }),
});

const DeleteRetainedMessagesPayload = builder.objectRef<DeletionReport>('DeleteRetainedMessagesPayload').implement({
  ...withBroker,
  description: 'What was deleted.',
  fields: (t) => ({
    broker: t.expose('broker', { description: 'The broker whose messages were deleted.', type: Broker }),
    deletion: t.expose('deletion', { description: 'The deletion with its results.', type: RetainedDeletion }),
  }),
});

const RetainedDeletionEvent = builder.objectRef<DeletionEvent>('RetainedDeletionEvent').implement({
  description: 'First the last deletion, then one event for each change of state, and at most one per second between.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    deletion: t.field({
      description: 'SNAPSHOT, CHANGE: the deletion. Null if none is stored.',
      type: RetainedDeletion,
      nullable: true,
      resolve: (event) => stateIn(event),
    }),
  }),
});

builder.mutationField('deleteRetainedMessages', (t) =>
  t.field({
    description:
      'Deletes retained messages, and reads again what is left. At most 500,000 topics and 15 minutes. The deletion continues if the caller disconnects, the broker restarts, or the process of this service ends: see the subscription `retainedDeletion` and `job`. After such a process, the response is BROKER_UNREACHABLE with `info.jobId`, or none. Another process, or the same after its restart, reads again what is left and deletes it. What was deleted by a filter and not yet read again is then not counted. One deletion runs per broker at a time, in all processes; others are IN_USE. Four run per process; others are RATE_LIMITED.',
    type: DeleteRetainedMessagesPayload,
    ...onBroker('EDITOR'),
    args: inputArgument(DeleteRetainedMessagesInput, 'The messages.'),
    resolve: (_root, { input }, { services, viewer }) =>
      services.retainedDeletions.run(services.brokers.visible(input.brokerId, viewer, 'EDITOR'), input),
  }),
);

builder.subscriptionField('retainedDeletion', (t) =>
  t.field({
    description: resumable(
      'The progress of deletions of retained messages on a broker, in whichever process they run. Events come at most once per second between changes of state.',
    ),
    type: RetainedDeletionEvent,
    ...onBroker('EDITOR'),
    args: {
      brokerId: t.arg.id({ description: 'A broker in a project where the caller has EDITOR.', required: true }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) =>
      guardedBroker(
        context,
        brokerId,
        (broker, signal) => context.services.retainedDeletions.watch(broker, { signal, after }),
        'EDITOR',
      ),
    resolve: (event) => event,
  }),
);

builder.interfaceField(Broker, 'viewerCanDeleteRetainedMessages', (t) =>
  t.boolean(viewerCan('Mutation.deleteRetainedMessages', 'delete retained messages', ofBroker)),
);
