import type { builder } from './builder.ts';

type Fields<Parent extends object> = PothosSchemaTypes.ObjectFieldBuilder<
  (typeof builder)['$inferSchemaTypes'],
  Parent
>;

/** A nullable DateTime. `timeOf` returns epoch milliseconds. */
export const timeField = <Parent extends object>(
  t: Fields<Parent>,
  description: string,
  timeOf: (parent: Parent) => number | null,
) =>
  t.field({
    description,
    type: 'DateTime',
    nullable: true,
    resolve: (parent) => {
      const epochMs = timeOf(parent);
      return epochMs === null ? null : new Date(epochMs);
    },
  });
