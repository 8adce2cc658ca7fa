/** Fields that the mutations of clients have in common. */
import type { InputFields, OutputFields } from '../../../gateway/graphql/builder.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../control/bulk-selection.ts';

export const BROKER = 'The broker of the client.';

export const RESULTS = `One result per selected client, in the order of \`clientIds\`; without \`clientIds\` in the order of client ids. At most ${MAX_LIMIT}, because the input selects no more.`;

export const target = (t: InputFields) => ({
  brokerId: t.id({ description: 'The broker of the client.', required: true }),
  projectId: t.id({ description: 'If set, the broker must be in this project.' }),
});
export const limit = (t: InputFields, effect: string) =>
  t.int({
    defaultValue: DEFAULT_LIMIT,
    description: `A guard against mistakes: if more clients are selected, ${effect}. At most ${MAX_LIMIT}.`,
  });

interface BulkReport {
  readonly results: readonly { readonly status: string }[];
}

/** Makes a field for the number of results with a status. */
export const statusCounts =
  <Report extends BulkReport>(t: OutputFields<Report>) =>
  (status: Report['results'][number]['status']) =>
    t.int({
      description: `Number of results with status ${status}.`,
      resolve: ({ results }) => results.filter((result) => result.status === status).length,
    });
