import {
  type ASTNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  Kind,
  type SelectionSetNode,
  visit,
} from 'graphql';
import { ServiceError } from '../../platform/errors.ts';

export interface GraphqlLimits {
  readonly tokens: number;
  /** Levels of fields. For introspection fields graphql-js has its own rule. */
  readonly depth: number;
  readonly aliases: number;
  /** Root fields of an operation, including those of fragments. */
  readonly rootFields: number;
  readonly directives: number;
  /** Fields with one response key in a selection set, with those of fragments. Validation compares each pair. */
  readonly sameKey: number;
  /** Fields that repeat a response key of their selection set. */
  readonly repeats: number;
  /** Sum of the complexity of all fields, with list fields multiplied by the size of the list. */
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

/**
 * Checks the limits of the text before validation, whose work grows with the square of a hostile document. Validation
 * finds cycles of fragments. Errors: TOO_COMPLEX for the first exceeded limit, with `info: { limit, actual }`.
 */
export function checkShape(document: DocumentNode, limits: GraphqlLimits): void {
  const counts = countShape(document, limits);
  for (const [name, counted, hint] of SHAPE) {
    const actual = counts[name];
    const limit = limits[name];
    if (actual > limit) {
      const words = `The document has ${actual} ${counted}, the maximum is ${limit}: ${hint}`;
      throw new ServiceError('TOO_COMPLEX', words, { info: { limit, actual } });
    }
  }
}

const SHAPE = [
  ['depth', 'levels of fields', 'select fewer levels'],
  ['aliases', 'aliases', 'send several requests'],
  ['rootFields', 'root fields', 'send several requests'],
  ['directives', 'directives', 'use fewer directives'],
  ['sameKey', 'fields with the same name or alias in one selection', 'select each field once'],
  ['repeats', 'fields that repeat others', 'select each field once'],
] as const;

type ShapeLimits = Omit<GraphqlLimits, 'tokens' | 'cost'>;

function countShape(document: DocumentNode, limits: ShapeLimits): ShapeLimits {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const names = new Set<string>();
  const keys = new Set<string>();
  const sets: SelectionSetNode[] = [];
  let directives = 0;
  visit(document, {
    SelectionSet: (set, _key, parent) => {
      // The fields of an inline fragment belong to the selection set around it.
      if (!parent || Array.isArray(parent) || (parent as ASTNode).kind !== Kind.INLINE_FRAGMENT) sets.push(set);
    },
    FragmentDefinition: (node) => {
      fragments.set(node.name.value, node);
    },
    Directive: () => {
      directives += 1;
    },
    Field: ({ name, alias }) => {
      names.add(name.value);
      keys.add(`${name.value} ${(alias ?? name).value}`);
    },
  });

  // A fragment counts as often as it is spread, but is visited once.
  const depths = new Map<string, number>();
  const widths = new Map<string, number>();
  const measureOnce = (
    known: Map<string, number>,
    name: string,
    measure: (set: SelectionSetNode) => number,
  ): number => {
    const cached = known.get(name);
    if (cached !== undefined) return cached;
    // Ends cycles of fragments.
    known.set(name, 0);
    const fragment = fragments.get(name);
    const measured = fragment ? measure(fragment.selectionSet) : 0;
    known.set(name, measured);
    return measured;
  };
  const depthOf = (set: SelectionSetNode): number =>
    set.selections.reduce((deepest, selection) => {
      if (selection.kind === Kind.FRAGMENT_SPREAD)
        return Math.max(deepest, measureOnce(depths, selection.name.value, depthOf));
      if (selection.kind === Kind.INLINE_FRAGMENT) return Math.max(deepest, depthOf(selection.selectionSet));
      const inner =
        selection.name.value.startsWith('__') || !selection.selectionSet ? 0 : depthOf(selection.selectionSet);
      return Math.max(deepest, 1 + inner);
    }, 0);
  const widthOf = (set: SelectionSetNode): number =>
    set.selections.reduce((total, selection) => {
      if (selection.kind === Kind.FRAGMENT_SPREAD) return total + measureOnce(widths, selection.name.value, widthOf);
      return total + (selection.kind === Kind.INLINE_FRAGMENT ? widthOf(selection.selectionSet) : 1);
    }, 0);

  let depth = 0;
  let rootFields = 0;
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    depth = Math.max(depth, depthOf(definition.selectionSet));
    rootFields = Math.max(rootFields, widthOf(definition.selectionSet));
  }
  const aliases = keys.size - names.size;
  return { depth, aliases, rootFields, directives, ...countRepeats(sets, fragments, limits) };
}

/** Stops beyond the first limit, because every selection set may spread every fragment. */
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

export function usesIntrospection(document: DocumentNode): boolean {
  let isUsed = false;
  visit(document, {
    Field: ({ name }) => {
      if (name.value === '__schema' || name.value === '__type') isUsed = true;
    },
  });
  return isUsed;
}
