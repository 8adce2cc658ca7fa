import type { builder } from './builder.ts';

interface Counted {
  readonly totalCount?: (() => number | Promise<number>) | number | undefined;
}

type ConnectionFields = PothosSchemaTypes.ObjectFieldBuilder<(typeof builder)['$inferSchemaTypes'], Counted>;

/** `totalCount` of a connection of rows with a description. Without entries in the selection, only it is queried. */
export const totalCount = (connection: unknown, description: string) =>
  (connection as ConnectionFields).int({
    description,
    extensions: { pothosPrismaTotalCount: true },
    resolve: ({ totalCount: count }) => (typeof count === 'function' ? count() : (count ?? 0)),
  });
