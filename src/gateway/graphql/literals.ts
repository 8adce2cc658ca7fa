import {
  type ASTNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isNonNullType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
  valueFromAST,
} from 'graphql';
import { NotCompilable, type OperationDocument, type Variables } from './document.ts';

/** Scalar of all variables of a compiled operation. Literal arguments become variables, too. */
export const COERCED_TYPE = 'CoercedValue__';
const LITERAL = 'literal__';

export class Literals {
  readonly #schema: GraphQLSchema;
  readonly #own: readonly string[];
  readonly #constants: Record<string, unknown> = {};
  readonly #computed: { readonly name: string; readonly node: ValueNode; readonly type: GraphQLInputType }[] = [];
  /** Nullable variables in non-null arguments. graphql-js executes and reports the error if one of them is null. */
  readonly #required = new Set<string>();
  #count = 0;

  constructor(schema: GraphQLSchema, { definitions: [{ variableDefinitions = [] }] }: OperationDocument) {
    this.#schema = schema;
    this.#own = variableDefinitions.map(({ variable }) => variable.name.value);
  }

  hoist(document: OperationDocument): OperationDocument {
    const [operation, ...fragments] = document.definitions;
    const root = this.#schema.getRootType(operation.operation);
    if (!root) throw new NotCompilable(`no root type for ${operation.operation}`);
    const selectionSet = this.#selections(operation.selectionSet, root.name);
    const hoisted = fragments.map((fragment) => ({
      ...fragment,
      selectionSet: this.#selections(fragment.selectionSet, fragment.typeCondition.name.value),
    }));
    if (this.#own.some((name) => name === '__proto__' || name.startsWith(LITERAL)))
      throw new NotCompilable('a variable name is reserved');
    const names = [...this.#own, ...Object.keys(this.#constants), ...this.#computed.map(({ name }) => name)];
    const variableDefinitions = names.map((name) => ({
      kind: Kind.VARIABLE_DEFINITION as const,
      variable: variableNode(name),
      type: { kind: Kind.NAMED_TYPE as const, name: { kind: Kind.NAME as const, value: COERCED_TYPE } },
    }));
    return { ...document, definitions: [{ ...operation, selectionSet, variableDefinitions }, ...hoisted] };
  }

  /** Adds the values of the literals. `null` if graphql-js has to execute. */
  fill(variables: Variables): Variables | null {
    for (const name of this.#required) if (variables[name] === undefined || variables[name] === null) return null;
    if (this.#count === 0) return variables;
    const values: Record<string, unknown> = { ...variables, ...this.#constants };
    for (const { name, node, type } of this.#computed) {
      const value = valueFromAST(node, type, variables);
      if (value === undefined) return null;
      values[name] = value;
    }
    return values;
  }

  #selections(set: SelectionSetNode, typeName: string): SelectionSetNode {
    const type = this.#schema.getType(typeName);
    const fields = type && 'getFields' in type ? type.getFields() : {};
    const selections = set.selections.map((selection): SelectionNode => {
      if (selection.kind === Kind.FRAGMENT_SPREAD) return selection;
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        const inner = selection.typeCondition?.name.value ?? typeName;
        return { ...selection, selectionSet: this.#selections(selection.selectionSet, inner) };
      }
      const field = fields[selection.name.value] as GraphQLField<unknown, unknown> | undefined;
      if (!field) return selection;
      const args = selection.arguments?.map((argument) => {
        const definition = field.args.find(({ name }) => name === argument.name.value);
        return definition ? { ...argument, value: this.#argument(argument.value, definition) } : argument;
      });
      return {
        ...selection,
        ...(args && { arguments: args }),
        ...(selection.selectionSet && {
          selectionSet: this.#selections(selection.selectionSet, getNamedType(field.type).name),
        }),
      };
    });
    return { ...set, selections };
  }

  #argument(node: ValueNode, { type }: GraphQLArgument): ValueNode {
    if (node.kind === Kind.VARIABLE) {
      if (isNonNullType(type)) this.#required.add(node.name.value);
      return node;
    }
    const name = `${LITERAL}${this.#count++}`;
    const value = usesVariables(node) ? null : valueFromAST(node, type);
    if (value === undefined) throw new NotCompilable('a literal is invalid for its type');
    // A resolver may store or change an object, so each run creates a new one.
    if (node.kind === Kind.NULL || (typeof value !== 'object' && value !== null)) this.#constants[name] = value;
    else this.#computed.push({ name, node, type });
    return { ...variableNode(name), ...(node.loc && { loc: node.loc }) };
  }
}

const variableNode = (name: string) => ({
  kind: Kind.VARIABLE as const,
  name: { kind: Kind.NAME as const, value: name },
});

function usesVariables(node: ASTNode): boolean {
  if (node.kind === Kind.VARIABLE) return true;
  if (node.kind === Kind.LIST) return node.values.some(usesVariables);
  return node.kind === Kind.OBJECT && node.fields.some(({ value }) => usesVariables(value));
}
