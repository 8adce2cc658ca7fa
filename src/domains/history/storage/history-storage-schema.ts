import type { HistoryThread } from '../../../data-plane/history/hosting/history-thread.ts';
import { builder, signedIn } from '../../../gateway/graphql/builder.ts';

const DAY_MS = 86_400_000;

const HistoryStorage = builder
  .objectRef<Pick<HistoryThread, 'state' | 'keepMs' | 'maxBytes'>>('HistoryStorage')
  .implement({
    description:
      'How much is stored of the history of all brokers: metrics, events of clients and refusals. It expires by time for all projects together.',
    fields: (t) => ({
      days: t.float({ description: 'HISTORY_DAYS.', resolve: ({ keepMs }) => keepMs / DAY_MS }),
      maxBytes: t.expose('maxBytes', {
        description: 'HISTORY_MAX_MB, in bytes. Beyond it the oldest part is deleted.',
        type: 'SafeInt',
      }),
      bytes: t.field({
        description: 'Size at the last check, which is made once a minute. `null` before the first one.',
        type: 'SafeInt',
        nullable: true,
        resolve: ({ state }) => state.bytes,
      }),
      since: t.field({
        description:
          'Beginning of the history at the last check. `null` before the first one, and without any history.',
        type: 'DateTime',
        nullable: true,
        resolve: ({ state: { oldest } }) => (oldest === null ? null : new Date(oldest)),
      }),
      problem: t.string({
        description: 'Why nothing is written now. `null` if the history is written.',
        nullable: true,
        resolve: ({ state }) => state.problem,
      }),
    }),
  });

builder.queryField('historyStorage', (t) =>
  t.field({
    type: HistoryStorage,
    description: 'How long the history of brokers is stored, and how much room it takes.',
    ...signedIn,
    resolve: (_root, _args, { services }) => services.history,
  }),
);
