import { builder, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import { errorField } from '../../../gateway/graphql/change-error.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { MAX_LIMIT } from '../control/bulk-selection.ts';
import type { SessionDeletionReport } from '../control/client-control-service.ts';
import type { DeletionStatus, SessionDeletion } from '../control/session-deletion.ts';
import { BROKER, limit, RESULTS, statusCounts, target } from './bulk-fields.ts';
import { ConnectedClientFilter } from './client-filter-schema.ts';

const Status = describedEnum<DeletionStatus>('ClientSessionDeletionStatus', 'The result for one selected session.', {
  DELETED: 'The broker confirmed that it deleted the session.',
  WOULD_DELETE: 'A dry run: the session was not deleted.',
  REFUSED: 'The session was not deleted, because its client is connected: see `error`.',
  NOT_FOUND: 'The broker has no session of this client id, or it does not match the filter.',
  FAILED: 'The broker is unreachable, or its response was lost; then it may have deleted the session.',
});

const Result = builder.objectRef<SessionDeletion>('ClientSessionDeletion').implement({
  description: 'The result for one of many sessions.',
  fields: (t) => ({
    clientId: t.exposeString('clientId', { description: 'Client id of a selected session.' }),
    status: t.expose('status', { description: 'Whether the session was deleted.', type: Status }),
    error: errorField(t, 'The reason of REFUSED, NOT_FOUND or FAILED; otherwise null.'),
  }),
});

const Payload = builder.objectRef<SessionDeletionReport>('DeleteClientSessionsPayload').implement({
  ...withBroker,
  description: 'The result for each selected session, and the number of results per status.',
  fields: (t) => {
    const count = statusCounts(t);
    return {
      results: t.expose('results', {
        description: RESULTS,
        type: [Result],
      }),
      deletedCount: count('DELETED'),
      wouldDeleteCount: count('WOULD_DELETE'),
      refusedCount: count('REFUSED'),
      notFoundCount: count('NOT_FOUND'),
      failedCount: count('FAILED'),
      broker: t.expose('broker', { description: BROKER, type: Broker }),
    };
  },
});

const Input = builder.inputType('DeleteClientSessionsInput', {
  description:
    'The sessions to delete: those of `clientIds`, those of the offline clients that match `filter`, or with both the ids that match.',
  fields: (t) => ({
    ...target(t),
    clientIds: t.stringList({
      description: `Client ids, at most ${MAX_LIMIT}. If null, \`filter\` is required, and selects all offline clients that match.`,
    }),
    filter: t.field({ description: 'If null, `clientIds` is required.', type: ConnectedClientFilter }),
    dryRun: t.boolean({
      defaultValue: false,
      description: 'Delete no session, and return the result that each session would have.',
    }),
    limit: limit(t, 'no session is deleted'),
  }),
});

builder.mutationFields((t) => ({
  deleteClientSessions: t.field({
    description:
      'Deletes the stored sessions of offline clients, with their subscriptions and the messages that wait for them. Only on embedded brokers; error NOT_SUPPORTED_BY_BROKER for other brokers. A failure does not stop the others; each session has its own result.',
    type: Payload,
    ...writesOnBroker,
    args: inputArgument(Input, 'The sessions.'),
    resolve: (_root, { input }, { services, viewer }) =>
      services.clientControl.deleteSessions(services.brokers.visible(input.brokerId, viewer), input),
  }),
}));
