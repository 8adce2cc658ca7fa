import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type InlineFragmentNode,
  isAbstractType,
  isObjectType,
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

/** A document with one operation, which is the first definition. */
export interface OperationDocument extends DocumentNode {
  readonly definitions: readonly [OperationDefinitionNode, ...FragmentDefinitionNode[]];
}

/** `null` if there is no operation of this name, or several without a name. */
export function operationDocument(document: DocumentNode, name: string | null = null): OperationDocument | null {
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const [first, ...others] = name === null ? operations : operations.filter((one) => one.name?.value === name);
  if (first === undefined || (name === null && others.length > 0)) return null;
  const fragments = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return { kind: Kind.DOCUMENT, definitions: [first, ...fragments] };
}

/** The name of the first root field; `other` if the first selection is a fragment. */
export function rootFieldOf({ definitions: [{ selectionSet }] }: OperationDocument): string {
  const [first] = selectionSet.selections;
  return first?.kind === Kind.FIELD ? first.name.value : 'other';
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

export type ListFields = (
  type: GraphQLObjectType,
  sets: Iterable<SelectionSetNode>,
) => ReadonlyMap<string, readonly [FieldNode, ...FieldNode[]]>;

/** Returns a function that lists the fields of an object by response key, in the order of the response. */
export function fieldLister(schema: GraphQLSchema, { definitions: [, ...fragments] }: OperationDocument): ListFields {
  const fragmentByName = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
  return (type, sets) => {
    const fields = new Map<string, [FieldNode, ...FieldNode[]]>();
    const visited = new Set<string>();
    const collect = ({ selections }: SelectionSetNode): void => {
      for (const selection of selections) {
        if (selection.kind === Kind.FIELD) {
          const key = (selection.alias ?? selection.name).value;
          const nodes = fields.get(key);
          if (nodes) nodes.push(selection);
          else fields.set(key, [selection]);
          continue;
        }
        let fragment: InlineFragmentNode | FragmentDefinitionNode | undefined;
        if (selection.kind === Kind.INLINE_FRAGMENT) fragment = selection;
        else if (!visited.has(selection.name.value)) fragment = fragmentByName.get(selection.name.value);
        if (selection.kind === Kind.FRAGMENT_SPREAD) visited.add(selection.name.value);
        if (fragment && applies(schema, fragment, type)) collect(fragment.selectionSet);
      }
    };
    for (const set of sets) collect(set);
    return fields;
  };
}

function applies(
  schema: GraphQLSchema,
  { typeCondition }: InlineFragmentNode | FragmentDefinitionNode,
  type: GraphQLObjectType,
): boolean {
  if (typeCondition === undefined || typeCondition.name.value === type.name) return true;
  const conditional = schema.getType(typeCondition.name.value);
  return isAbstractType(conditional) && schema.isSubType(conditional, type);
}

/** The object types that values of a type may have. Empty for leaves. */
export function objectTypesOf(schema: GraphQLSchema, type: GraphQLNamedType): readonly GraphQLObjectType[] {
  if (isAbstractType(type)) return schema.getPossibleTypes(type);
  return isObjectType(type) ? [type] : [];
}

export function withoutConditions(document: OperationDocument, conditions: Variables): OperationDocument {
  const decide = (node: SelectionNode) => {
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
