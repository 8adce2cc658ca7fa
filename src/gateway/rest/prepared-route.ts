import type { Ajv2020 } from 'ajv/dist/2020.js';
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  isEnumType,
  Kind,
  OperationTypeNode,
  parse,
} from 'graphql';
import { type CheckValue, compileCheck, createValidator } from '../../platform/text/json-schema.ts';
import { createJsonWriter, type WriteJson } from '../graphql/json-writer.ts';
import { boundedJson } from '../graphql/response-limit.ts';
import { compileTrim, type KeyTree, keyTree, type Spellings, selected, type Trim } from './body-keys.ts';
import { compileQuery, type ParseQuery } from './input.ts';
import { type Existence, existsIn, REVISIONS, type Revision } from './revisions.ts';
import type { JsonSchema, Route } from './route.ts';

/** An operation that is compiled once, at the latest with its first execution. */
export interface CompiledOperation<C> {
  execute(context: C, variables: Readonly<Record<string, unknown>>): ExecutionResult | Promise<ExecutionResult>;
}

/** Throws when the document does not hold one valid query or mutation. */
export type CompileOperation<C> = (
  schema: GraphQLSchema,
  text: string,
  options: { readonly plainScalars: readonly string[] },
) => CompiledOperation<C>;

/** Custom scalars whose values JSON.stringify writes as the scalars themselves would. */
const PLAIN_SCALARS = ['DateTime', 'JSON'];

/** What differs between revisions of one entry. */
interface PreparedVersion {
  readonly parseQuery: ParseQuery;
  readonly trim: Trim | null;
}

/**
 * A route made ready to be served. What can be wrong with its operation and how the answer is made of it is known at start; programs for
 * the operation, the input and the text are made when they are needed first.
 */
export interface PreparedRoute<C> {
  readonly route: Route;
  readonly operation: CompiledOperation<C>;
  /** The field of the graph that it runs: the first, where there are several. */
  readonly field: { readonly name: string; readonly isMutation: boolean };
  readonly checkBody: CheckValue | null;
  /** Of several the first that leads to something. */
  readonly picks: readonly (readonly string[])[] | null;
  /** Writes what is picked. */
  readonly write: WriteJson;
  readonly total: readonly string[] | null;
  readonly pageInfo: readonly string[] | null;
  /** The next page of a list in the body, where the route has some. */
  readonly next: { readonly operation: CompiledOperation<C>; readonly pick: readonly string[] } | null;
  readonly status: 200 | 204 | 207;
  readonly versions: Readonly<Record<Revision, PreparedVersion>>;
}

export interface Preparation<C> {
  readonly schema: GraphQLSchema;
  readonly compileOperation: CompileOperation<C>;
}

/** By list of routes: what was prepared last, and with what. */
const prepared = new WeakMap<
  readonly Route[],
  { readonly by: Preparation<never>; readonly routes: ReadonlyMap<Route, PreparedRoute<never>> }
>();

/**
 * The routes that are served, made ready. This keeps nothing of the server it is for, so servers in one process that have a list of
 * routes in common share it, and what is compiled later.
 */
export function prepareRoutes<C>(routes: readonly Route[], by: Preparation<C>): ReadonlyMap<Route, PreparedRoute<C>> {
  const known = prepared.get(routes);
  if (known && known.by.schema === by.schema && known.by.compileOperation === by.compileOperation) return known.routes;
  const ajv = createValidator();
  const made = new Map<Route, PreparedRoute<C>>();
  for (const route of routes) made.set(route, prepareRoute(route, { ...by, ajv }));
  prepared.set(routes, { by, routes: made });
  return made;
}

/** Errors: anything wrong with the route, so that it stops the start and not a request. */
export function prepareRoute<C>(
  route: Route,
  { schema, ajv, compileOperation }: Preparation<C> & { readonly ajv: Ajv2020 },
): PreparedRoute<C> {
  try {
    const document = parse(route.operation);
    // Validates first: what follows relies on a document that fits the schema.
    const operation = compileOperation(schema, route.operation, { plainScalars: PLAIN_SCALARS });
    const data = keyTree(schema, document, spellingsOf(route, schema));
    const status = route.status ?? 200;
    if (status !== 204 && route.pick === undefined) throw new Error('an answer with a body needs "pick"');
    const picks = typeof route.pick === 'string' ? [route.pick] : (route.pick ?? []);
    const [body = null] = picks.map((pick) => selected(data, pick));
    if (body?.written) throw new Error('an enum cannot be a whole body');
    if (route.total !== undefined) selected(data, route.total);
    if (route.stream !== undefined) {
      selected(data, `${route.stream.pageInfo}.hasNextPage`);
      selected(data, `${route.stream.pageInfo}.endCursor`);
    }
    const versions = Object.fromEntries(
      REVISIONS.map((revision) => [revision, prepareVersion(route, { body, ajv }, revision)]),
    ) as Record<Revision, PreparedVersion>;
    const steps = picks.map((pick) => pick.split('.'));
    const [first] = steps;
    return {
      route,
      operation,
      field: fieldOf(document),
      checkBody: route.body ? compileCheck(ajv, route.body) : null,
      picks: route.pick == null ? null : steps,
      write: first && steps.length === 1 ? writerOf(schema, document, first) : boundedJson,
      total: route.total?.split('.') ?? null,
      pageInfo: route.stream?.pageInfo.split('.') ?? null,
      next: route.lists
        ? {
            operation: compileOperation(schema, route.lists.next.operation, { plainScalars: PLAIN_SCALARS }),
            pick: route.lists.next.pick.split('.'),
          }
        : null,
      status,
      versions,
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${route.method} ${route.path} cannot be served: ${reason}`, { cause });
  }
}

/** Made when something is written first: it is a program, as that of the operation. */
function writerOf(schema: GraphQLSchema, document: DocumentNode, path: readonly string[]): WriteJson {
  let write: WriteJson | null = null;
  return (value) => {
    write ??= createJsonWriter(schema, document, { path }) ?? boundedJson;
    return write(value);
  };
}

function fieldOf({ definitions }: DocumentNode): PreparedRoute<never>['field'] {
  for (const definition of definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const [first] = definition.selectionSet.selections;
    const isMutation = definition.operation === OperationTypeNode.MUTATION;
    if (first?.kind === Kind.FIELD) return { name: first.name.value, isMutation };
  }
  throw new Error('the operation begins with no field');
}

const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };

function prepareVersion(
  route: Route,
  { body, ajv }: { readonly body: KeyTree | null; readonly ajv: Ajv2020 },
  revision: Revision,
): PreparedVersion {
  const { query = {}, response = {} } = route.revisions ?? {};
  return {
    parseQuery: compileQuery(ajv, route.query ?? NO_PARAMETERS, {
      hidden: new Set(missingIn(revision, query)),
      single: route.singleBy,
    }),
    trim: body && compileTrim(body, route.omitNull ?? [], missingIn(revision, response)),
  };
}

export function missingIn(revision: Revision, existences: Readonly<Record<string, Existence>>): string[] {
  return Object.keys(existences).filter((name) => !existsIn(revision, existences[name] ?? {}));
}

/** Documented spelling of each value, by enum: by the value that resolvers give, and by its name. */
function spellingsOf({ spell = {} }: Route, schema: GraphQLSchema): Spellings {
  const spellings = new Map<string, ReadonlyMap<unknown, string>>();
  for (const [typeName, spelling] of Object.entries(spell)) {
    const type = schema.getType(typeName);
    if (!isEnumType(type)) throw new Error(`spell: "${typeName}" is no enum of the graph`);
    const spelled = new Map<unknown, string>();
    for (const { name, value } of type.getValues()) {
      const text = spelling[name];
      if (text === undefined) throw new Error(`spell: ${typeName}.${name} has no spelling`);
      spelled.set(value, text).set(name, text);
    }
    spellings.set(typeName, spelled);
  }
  return spellings;
}

/** The query parameters of a revision, as a schema. */
export function queryIn(revision: Revision, { query, revisions }: Route): JsonSchema | undefined {
  if (!query || !revisions?.query) return query;
  const missing = missingIn(revision, revisions.query);
  const properties = Object.entries((query.properties ?? {}) as Record<string, JsonSchema>);
  return { ...query, properties: Object.fromEntries(properties.filter(([name]) => !missing.includes(name))) };
}
