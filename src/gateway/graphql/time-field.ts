import type { OutputFields } from './builder.ts';

/** A nullable DateTime. `timeOf` returns epoch milliseconds. */
export const timeField = <Parent extends object>(
  t: OutputFields<Parent>,
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

/** A DateTime that is never unknown. `timeOf` returns epoch milliseconds. */
export const knownTimeField = <Parent extends object>(
  t: OutputFields<Parent>,
  description: string,
  timeOf: (parent: Parent) => number,
) => t.field({ description, type: 'DateTime', resolve: (parent) => new Date(timeOf(parent)) });
