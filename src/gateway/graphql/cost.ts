import { complexityFromQuery } from '@pothos/plugin-complexity';
import { type GraphQLSchema, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../platform/errors.ts';
import type { OperationDocument, Variables } from './document.ts';

/** The cost of an operation with its variables, and the maximum that is executed. */
export interface OperationCost {
  readonly actual: number;
  readonly limit: number;
}

export class Cost {
  readonly #schema: GraphQLSchema;
  readonly #document: OperationDocument;
  readonly #limit: number;
  readonly #variables: readonly string[];
  readonly #cached = new LRUCache<string, number>({ max: 20 });
  #fixed: number | undefined;

  constructor(schema: GraphQLSchema, document: OperationDocument, limit: number) {
    this.#schema = schema;
    this.#document = document;
    this.#limit = limit;
    this.#variables = costVariables(schema, document);
  }

  /** Errors: TOO_COMPLEX, and those of an argument. `coerced` are the coerced values of `sent`. */
  check(context: object, sent: Variables, coerced: Variables): void {
    const { actual, limit } = this.of(context, sent, coerced);
    if (actual <= limit) return;
    const words = `The operation costs ${actual}, the maximum is ${limit}: select fewer fields or smaller pages`;
    throw new ServiceError('TOO_COMPLEX', words, { info: { limit, actual } });
  }

  /** As in the error TOO_COMPLEX. */
  of(context: object, sent: Variables, coerced: Variables): OperationCost {
    return { actual: this.#of(context, sent, coerced), limit: this.#limit };
  }

  #of(context: object, variables: Variables, coerced: Variables): number {
    if (this.#variables.length === 0) {
      this.#fixed ??= this.#calculate(context, variables);
      return this.#fixed;
    }
    const key = JSON.stringify(this.#variables.map((name) => (name in coerced ? [coerced[name]] : [])));
    const cached = this.#cached.get(key);
    if (cached !== undefined) return cached;
    const cost = this.#calculate(context, variables);
    if (key.length < 200) this.#cached.set(key, cost);
    return cost;
  }

  #calculate(context: object, variables: Variables): number {
    const options = { schema: this.#schema, ctx: context, variables: { ...variables } };
    return complexityFromQuery(this.#document, options).complexity;
  }
}

/** Variables in arguments of fields whose complexity is a function of their arguments. */
function costVariables(schema: GraphQLSchema, document: OperationDocument): readonly string[] {
  const names = new Set<string>();
  const types = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(types, {
      Field(node) {
        if (typeof types.getFieldDef()?.extensions.complexity !== 'function') return;
        for (const argument of node.arguments ?? []) {
          visit(argument, {
            Variable: ({ name }) => {
              names.add(name.value);
            },
          });
        }
      },
    }),
  );
  return [...names];
}
