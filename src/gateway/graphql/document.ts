import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type InlineFragmentNode,
  isAbstractType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from 'graphql';

export type Variables = Readonly<Record<string, unknown>>;

/** The document cannot be compiled; graphql-js executes it. */
export class NotCompilable extends Error {
  override readonly name = 'NotCompilable';
}

export const NO_VARIABLES: Variables = Object.freeze({});

export function operationOf(document: DocumentNode, name?: string | null): OperationDefinitionNode | null {
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  if (name === undefined || name === null) return operations.length === 1 ? (operations[0] ?? null) : null;
  return operations.find((operation) => operation.name?.value === name) ?? null;
}

/** Boolean variables that decide `@skip` and `@include`, in a stable order. */
export function conditionVariables(document: DocumentNode): readonly string[] {
  const names = new Set<string>();
  visit(document, {
    Directive({ name, arguments: args }) {
      if (name.value !== 'skip' && name.value !== 'include') return;
      for (const { value } of args ?? []) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  });
  return [...names].sort();
}

export const fragmentsOf = (document: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> =>
  new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
    ),
  );

/** Whether an object of this type has the fields of a fragment. */
export function applies(schema: GraphQLSchema, fragment: Fragment, type: GraphQLObjectType): boolean {
  const condition = fragment.typeCondition?.name.value;
  if (condition === undefined || condition === type.name) return true;
  const conditional = schema.getType(condition);
  return isAbstractType(conditional) && schema.isSubType(conditional, type);
}

type Fragment = InlineFragmentNode | FragmentDefinitionNode;

export function onlyOperation(document: DocumentNode, operation: OperationDefinitionNode): DocumentNode {
  const definitions = document.definitions.filter(
    (definition) => definition === operation || definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  return { kind: Kind.DOCUMENT, definitions };
}

export function withoutConditions(document: DocumentNode, conditions: Variables): DocumentNode {
  const decide = (node: FieldNode | InlineFragmentNode | SelectionNode) => {
    for (const { name, arguments: args } of node.directives ?? []) {
      const value = args?.find((argument) => argument.name.value === 'if')?.value;
      const holds =
        value?.kind === Kind.VARIABLE ? conditions[value.name.value] : value?.kind === Kind.BOOLEAN && value.value;
      if (name.value === 'skip' && holds === true) return null;
      if (name.value === 'include' && holds !== true) return null;
    }
    return node.directives?.length ? { ...node, directives: [] } : undefined;
  };
  return visit(document, { Field: decide, InlineFragment: decide, FragmentSpread: decide });
}

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
