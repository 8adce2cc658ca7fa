import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { schema } from '../../../src/app/schema.ts';
import type { Random } from '../random.ts';
import type { KnownValues } from './fuzz-world.ts';
import { hostileJson, hostileNumber, hostileText } from './hostile-values.ts';

export interface GraphqlRequest {
  readonly kind: 'query' | 'mutation' | 'subscription';
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

type Field = GraphQLField<unknown, unknown>;

const ROOTS = [
  { kind: 'query', type: schema.getQueryType() },
  { kind: 'mutation', type: schema.getMutationType() },
  { kind: 'subscription', type: schema.getSubscriptionType() },
].flatMap(({ kind, type }) =>
  Object.values(type?.getFields() ?? {}).map((field) => ({
    kind: kind as GraphqlRequest['kind'],
    field: field as Field,
  })),
);

type Root = (typeof ROOTS)[number];

/** Root fields by their names. */
export const rootsOf = (...names: readonly string[]): readonly Root[] =>
  ROOTS.filter(({ field }) => names.includes(field.name));

/** One operation with one to three root fields, arguments as variables, and selections at most four levels deep. */
export function graphqlRequest(
  random: Random,
  known: KnownValues,
  nth: number,
  roots: readonly Root[] = ROOTS,
): GraphqlRequest {
  const first = roots[nth % roots.length] as Root;
  const others = roots.filter(({ kind }) => kind === first.kind);
  const fields = [
    first,
    ...Array.from({ length: first.kind !== 'subscription' && random.chance(0.2) ? random.int(1, 3) : 0 }, () =>
      random.pick(others),
    ),
  ]
    .filter((root) => root !== undefined)
    .map(({ field }) => field);
  const writer = new OperationWriter(random, known);
  const selections = fields.map((field, index) => writer.field(field, 4, index === 0 ? '' : `r${index}: `));
  const query = `${first.kind} ${writer.definitions} { ${selections.join(' ')} }`;
  return {
    kind: first.kind,
    query: random.chance(0.05) ? mangled(random, query) : query,
    variables: writer.variables,
  };
}

/** Text that is cut, repeated or replaced somewhere: mostly no document. */
function mangled(random: Random, text: string): string {
  const from = random.int(0, text.length);
  const to = random.int(from, Math.min(text.length, from + 20));
  const between = random.pick([
    '',
    '{',
    '}',
    '(',
    '"""',
    '...',
    '@skip(if: true)',
    '\0',
    '$',
    text.slice(from, to).repeat(3),
  ]);
  return text.slice(0, from) + between + text.slice(to);
}

class OperationWriter {
  readonly #random: Random;
  readonly #known: KnownValues;
  readonly #definitions: string[] = [];
  readonly variables: Record<string, unknown> = Object.create(null);

  constructor(random: Random, known: KnownValues) {
    this.#random = random;
    this.#known = known;
  }

  get definitions(): string {
    return this.#definitions.length > 0 ? `(${this.#definitions.join(', ')})` : '';
  }

  field(field: Field, depth: number, alias: string): string {
    const args = field.args
      .filter(({ type }) => isNonNullType(type) || this.#random.chance(0.3))
      .map(({ name, type }) => `${name}: $${this.#variable(name, type)}`);
    const type = getNamedType(field.type);
    return `${alias}${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}${this.#selection(type, depth - 1)}`;
  }

  #variable(name: string, type: GraphQLInputType): string {
    const variable = `v${this.#definitions.length}`;
    this.#definitions.push(`$${variable}: ${type}`);
    this.variables[variable] = this.#random.chance(0.05) ? hostileJson(this.#random) : this.#value(type, name);
    return variable;
  }

  #selection(type: ReturnType<typeof getNamedType>, depth: number): string {
    if (isLeafType(type)) return '';
    if (isAbstractType(type)) {
      const types = this.#random.some(schema.getPossibleTypes(type), 0.5);
      const inner = types.map((one) => `... on ${one.name}${this.#selection(one, depth)}`);
      return ` { __typename ${inner.join(' ')} }`;
    }
    if (!isObjectType(type) || depth <= 0) return ' { __typename }';
    const fields = this.#random.some(Object.values(type.getFields()) as Field[], 0.4).slice(0, 12);
    // Aliases, because fields of several possible types may differ in arguments and types.
    const inner = fields.map((field) =>
      this.field(field, depth, `${type.name}_${field.name}_${this.#definitions.length}: `),
    );
    return ` { __typename ${inner.join(' ')} }`;
  }

  #value(type: GraphQLInputType, name: string): unknown {
    const random = this.#random;
    if (isNonNullType(type)) return this.#value(type.ofType, name);
    if (random.chance(0.03)) return null;
    if (isListType(type)) {
      const length = random.chance(0.02) ? 500 : random.int(0, 3);
      return Array.from({ length }, () => this.#value(type.ofType, name));
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields());
      const picked = type.isOneOf
        ? [random.pick(fields)]
        : fields.filter((one) => isNonNullType(one.type) || random.chance(0.4));
      return Object.fromEntries(picked.map((one) => [one.name, this.#value(one.type, one.name)]));
    }
    if (isEnumType(type)) return random.chance(0.05) ? hostileText(random) : random.pick(type.getValues()).name;
    if (type.name === 'Boolean') return random.chance(0.5);
    if (type.name === 'Int') return random.chance(0.6) ? random.int(0, 50) : hostileNumber(random);
    if (type.name === 'Float' || type.name === 'SafeInt') return hostileNumber(random);
    if (type.name === 'JSON') return hostileJson(random);
    return random.chance(0.5) ? this.#known.pick(random, name) : hostileText(random);
  }
}
