import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { belongsToBroker } from '../../../gateway/graphql/type-scopes.ts';
import {
  type ClientInflight,
  type ClientQueues,
  INFLIGHT_KEYS,
  QUEUE_KEYS,
} from '../../../protocol/apis/clients/inspect-data.ts';
import type { ClientView } from '../client-view.ts';
import { detail } from './client-parts-schema.ts';

/** Counters that the commercial plugin reports for single clients only; those of a listed client are read later. */
const OF_SINGLE_CLIENTS: ReadonlySet<(typeof QUEUE_KEYS)[number]> = new Set([
  'bytesIn',
  'messagesIn',
  'messagesInQos12',
  'messagesOutQos12',
]);

const QUEUE_DESCRIPTIONS = {
  bytesIn: 'Bytes of the queued messages from the client.',
  bytesOut: 'Bytes of the queued messages for the client.',
  bytesMax: 'Maximum number of queued bytes.',
  messagesIn: 'Number of queued messages from the client.',
  messagesMax: 'Maximum number of queued messages.',
  messagesInQos12: 'Number of queued messages from the client with QoS 1 or 2.',
  messagesOut: 'Number of queued messages for the client.',
  messagesOutQos12: 'Number of queued messages for the client with QoS 1 or 2.',
  pagedMessagesOut: 'Number of queued messages for the client that the broker moved from memory to disk.',
  pagedMessagesMax: 'Maximum number of messages that the broker moves from memory to disk.',
} as const satisfies Record<(typeof QUEUE_KEYS)[number], string>;

const INFLIGHT_DESCRIPTIONS = {
  bytesIn: 'Bytes of the messages in flight from the client.',
  bytesOut: 'Bytes of the messages in flight to the client.',
  bytesMax: 'Maximum number of bytes in flight.',
  messagesIn: 'Number of messages in flight from the client.',
  messagesInMax: 'Maximum number of messages in flight from the client.',
  messagesOut: 'Number of messages in flight to the client.',
  messagesOutMax: 'Maximum number of messages in flight to the client.',
  messagesMax: 'Maximum number of messages in flight in both directions together.',
} as const satisfies Record<(typeof INFLIGHT_KEYS)[number], string>;

interface QueuesView {
  readonly client: ClientView;
  readonly counts: ClientQueues;
}

export const ClientQueuesType = builder.objectRef<QueuesView>('ClientQueues').implement({
  ...belongsToBroker(({ client }: QueuesView) => client.broker),
  description: 'Queued messages from and for a client. A field is null if the source does not know it.',
  fields: (t) =>
    Object.fromEntries(
      QUEUE_KEYS.map((key) => {
        const ofSingle = OF_SINGLE_CLIENTS.has(key);
        const field = t.field({
          type: 'SafeInt',
          description: QUEUE_DESCRIPTIONS[key],
          nullable: true,
          ...(ofSingle ? { complexity: BROKER_QUERY_COST } : {}),
          resolve: ({ client, counts }, _args, context) =>
            counts[key] ?? (ofSingle ? detail(client, context, ({ queues }) => queues?.[key]) : null),
        });
        return [key, field];
      }),
    ),
});

export const ClientInflightType = builder.objectRef<ClientInflight>('ClientInflight').implement({
  description: 'Messages in flight: sent and not acknowledged yet. A field is null if the source does not know it.',
  fields: (t) =>
    Object.fromEntries(
      INFLIGHT_KEYS.map((key) => [
        key,
        t.expose(key, { type: 'SafeInt', description: INFLIGHT_DESCRIPTIONS[key], nullable: true }),
      ]),
    ),
});
