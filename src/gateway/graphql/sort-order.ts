import { builder } from './builder.ts';

export const SortOrder = builder.enumType('SortOrder', {
  description: 'Sort order of a list.',
  values: {
    ASC: { description: 'Ascending, or oldest first.', value: 'asc' },
    DESC: { description: 'Descending, or newest first.', value: 'desc' },
  } as const,
});

/** The input of an argument `orderBy`. */
export const orderInput = <Field extends string>(
  name: string,
  field: PothosSchemaTypes.EnumRef<(typeof builder)['$inferSchemaTypes'], Field>,
) =>
  builder.inputType(name, {
    description: 'How a list is sorted.',
    fields: (t) => ({
      field: t.field({ description: 'Value by which the list is sorted.', type: field, required: true }),
      order: t.field({ description: 'Direction.', type: SortOrder, required: true, defaultValue: 'asc' as const }),
    }),
  });
