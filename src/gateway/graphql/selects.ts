import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

/** Whether an operation selects one of these fields below the resolved field. Ignores `@skip` and `@include`. */
export function selects({ fieldNodes, fragments }: GraphQLResolveInfo, ...names: readonly string[]): boolean {
  const seen = new Set<string>();
  const isIn = (set: SelectionSetNode | undefined): boolean =>
    set?.selections.some((selection) => {
      if (selection.kind === Kind.FIELD) return names.includes(selection.name.value) || isIn(selection.selectionSet);
      if (selection.kind === Kind.INLINE_FRAGMENT) return isIn(selection.selectionSet);
      const { value } = selection.name;
      if (seen.has(value)) return false;
      seen.add(value);
      return isIn(fragments[value]?.selectionSet);
    }) ?? false;
  return fieldNodes.some(({ selectionSet }) => isIn(selectionSet));
}
