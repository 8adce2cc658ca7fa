/**
 * What one document may ask. Everything but the cost is known from the text alone and refused before validation, whose own
 * work grows with the square of a hostile document; the cost depends on variables and is refused before execution.
 *
 * Errors: INVALID with `info: { limit, actual }` for the shape, RATE_LIMITED with the same info for the cost.
 */
import { complexityFromQuery } from '@pothos/plugin-complexity';
import {
  type ASTNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../platform/errors.ts';
import type { Variables } from './compile.ts';

export interface GraphqlLimits {
  /** Lexical tokens of a document. */
  readonly tokens: number;
  /** Fields below each other; introspection has the rule of graphql-js instead. */
  readonly depth: number;
  /** Times that fields are asked again under another name. */
  readonly aliases: number;
  /** Fields of the operation's root, through all fragments. */
  readonly rootFields: number;
  readonly directives: number;
  /** Fields under one response key of one selection set, through all fragments. Validation compares each with each. */
  readonly sameKey: number;
  /** Fields of the document that repeat a response key of their selection set, through all fragments. */
  readonly repeats: number;
  /** Sum of the fields' complexity, lists counted by their size. */
  readonly cost: number;
}

export const DEFAULT_LIMITS: GraphqlLimits = {
  tokens: 2_000,
  depth: 15,
  aliases: 30,
  rootFields: 30,
  directives: 50,
  sameKey: 50,
  repeats: 200,
  cost: 50_000,
};

/** Throws INVALID for the first limit that the document passes. Cycles of fragments are left to validation. */
export function checkShape(document: DocumentNode, limits: GraphqlLimits): void {
  const counts = countShape(document, limits);
  for (const [name, words] of SHAPE) {
    const actual = counts[name];
    const limit = limits[name];
    if (actual > limit) {
      throw new ServiceError('INVALID', `The document has ${words}: ${actual}, the limit is ${limit}`, {
        info: { limit, actual },
      });
    }
  }
}

const SHAPE = [
  ['depth', 'too many levels'],
  ['aliases', 'too many aliases'],
  ['rootFields', 'too many root fields'],
  ['directives', 'too many directives'],
  ['sameKey', 'too many fields with the same name or alias in one selection'],
  ['repeats', 'too many fields that repeat others'],
] as const;

type ShapeLimits = Omit<GraphqlLimits, 'tokens' | 'cost'>;

function countShape(document: DocumentNode, limits: ShapeLimits): ShapeLimits {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const aliasesOf = new Map<string, Set<string>>();
  const sets: SelectionSetNode[] = [];
  let directives = 0;
  visit(document, {
    SelectionSet: (set, _key, parent) => {
      // An inline fragment belongs to the selection set around it.
      if (!parent || Array.isArray(parent) || (parent as ASTNode).kind !== Kind.INLINE_FRAGMENT) sets.push(set);
    },
    FragmentDefinition: (node) => {
      fragments.set(node.name.value, node);
    },
    Directive: () => {
      directives += 1;
    },
    Field: ({ name, alias }) => {
      const keys = aliasesOf.get(name.value);
      if (keys) keys.add((alias ?? name).value);
      else aliasesOf.set(name.value, new Set([(alias ?? name).value]));
    },
  });

  // A fragment counts as often as it is spread; each is walked once.
  const depths = new Map<string, number>();
  const widths = new Map<string, number>();
  const through = (known: Map<string, number>, name: string, measure: (set: SelectionSetNode) => number): number => {
    const before = known.get(name);
    if (before !== undefined) return before;
    // What is found while the fragment is open is a cycle.
    known.set(name, 0);
    const fragment = fragments.get(name);
    const measured = fragment ? measure(fragment.selectionSet) : 0;
    known.set(name, measured);
    return measured;
  };
  const depthOf = (set: SelectionSetNode): number =>
    set.selections.reduce((deepest, selection) => {
      if (selection.kind === Kind.FRAGMENT_SPREAD)
        return Math.max(deepest, through(depths, selection.name.value, depthOf));
      if (selection.kind === Kind.INLINE_FRAGMENT) return Math.max(deepest, depthOf(selection.selectionSet));
      const inner =
        selection.name.value.startsWith('__') || !selection.selectionSet ? 0 : depthOf(selection.selectionSet);
      return Math.max(deepest, 1 + inner);
    }, 0);
  const widthOf = (set: SelectionSetNode): number =>
    set.selections.reduce((total, selection) => {
      if (selection.kind === Kind.FRAGMENT_SPREAD) return total + through(widths, selection.name.value, widthOf);
      return total + (selection.kind === Kind.INLINE_FRAGMENT ? widthOf(selection.selectionSet) : 1);
    }, 0);

  let depth = 0;
  let rootFields = 0;
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    depth = Math.max(depth, depthOf(definition.selectionSet));
    rootFields = Math.max(rootFields, widthOf(definition.selectionSet));
  }
  let aliases = 0;
  for (const keys of aliasesOf.values()) aliases += keys.size - 1;
  return { depth, aliases, rootFields, directives, ...countRepeats(sets, fragments, limits) };
}

/** Stops at the first limit: a selection set spreads each fragment once, and all selection sets may spread all fragments. */
function countRepeats(
  sets: readonly SelectionSetNode[],
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  limits: Pick<GraphqlLimits, 'sameKey' | 'repeats'>,
): Pick<GraphqlLimits, 'sameKey' | 'repeats'> {
  let sameKey = 0;
  let repeats = 0;
  for (const whole of sets) {
    const counts = new Map<string, number>();
    const spread = new Set<string>();
    const open = [whole];
    for (let set = open.pop(); set !== undefined; set = open.pop()) {
      for (const selection of set.selections) {
        if (selection.kind === Kind.FIELD) {
          const key = (selection.alias ?? selection.name).value;
          const count = (counts.get(key) ?? 0) + 1;
          counts.set(key, count);
          sameKey = Math.max(sameKey, count);
          if (count > 1) repeats += 1;
          if (sameKey > limits.sameKey || repeats > limits.repeats) return { sameKey, repeats };
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          open.push(selection.selectionSet);
        } else if (!spread.has(selection.name.value)) {
          spread.add(selection.name.value);
          const fragment = fragments.get(selection.name.value);
          if (fragment) open.push(fragment.selectionSet);
        }
      }
    }
  }
  return { sameKey, repeats };
}

/** The costs remembered for one operation; more combinations of values than this are calculated again. */
const REMEMBERED_COSTS = 20;

/** The cost of one operation, remembered by the values of the variables that it depends on. */
export class Cost {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #limit: number;
  readonly #variables: readonly string[];
  readonly #known = new LRUCache<string, number>({ max: REMEMBERED_COSTS });
  #fixed: number | undefined;

  constructor(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, limit: number) {
    this.#schema = schema;
    this.#limit = limit;
    this.#document = {
      kind: Kind.DOCUMENT,
      definitions: [operation, ...document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)],
    };
    this.#variables = costVariables(schema, this.#document);
  }

  /** Throws RATE_LIMITED, and what is wrong with an argument that the cost depends on. `sent` is what `coerced` was made of. */
  check(context: object, sent: Variables, coerced: Variables): void {
    const actual = this.#of(context, sent, coerced);
    if (actual <= this.#limit) return;
    throw new ServiceError('RATE_LIMITED', `The document costs ${actual}, the limit is ${this.#limit}`, {
      info: { limit: this.#limit, actual },
    });
  }

  #of(context: object, variables: Variables, coerced: Variables): number {
    if (this.#variables.length === 0) {
      this.#fixed ??= this.#calculate(context, variables);
      return this.#fixed;
    }
    // By what graphql-js makes of them: an absent one may have a default, which null has not.
    const key = JSON.stringify(this.#variables.map((name) => (name in coerced ? [coerced[name]] : [])));
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const cost = this.#calculate(context, variables);
    if (key.length < 200) this.#known.set(key, cost);
    return cost;
  }

  #calculate(context: object, variables: Variables): number {
    const { complexity } = complexityFromQuery(this.#document, {
      schema: this.#schema,
      ctx: context,
      variables: { ...variables },
    });
    return complexity;
  }
}

/** Variables in arguments of fields whose complexity is a function of their arguments. */
function costVariables(schema: GraphQLSchema, document: DocumentNode): readonly string[] {
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

/** Whether the operation asks for the schema itself. */
export function asksForSchema(document: DocumentNode): boolean {
  let asks = false;
  visit(document, {
    Field: ({ name }) => {
      if (name.value === '__schema' || name.value === '__type') asks = true;
    },
  });
  return asks;
}
