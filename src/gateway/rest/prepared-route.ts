import type { Ajv2020 } from 'ajv/dist/2020.js';
import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLOutputType,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  parse,
  visit,
} from 'graphql';
import { type CheckValue, compileCheck, createValidator } from '../../platform/text/json-schema.ts';
import { operationOf } from '../graphql/document.ts';
import { createJsonWriter, type WriteJson } from '../graphql/json-writer.ts';
import { type ResponseKeys, responseKeys } from '../graphql/response-keys.ts';
import { boundedJson } from '../graphql/response-limit.ts';
import { compileTrim, type Spellings, selected, spellingsOf, type Trim, writtenFor } from './body-keys.ts';
import { compileQuery, type ParseQuery } from './input.ts';
import { type Existence, existsIn, REVISIONS, type Revision } from './revisions.ts';
import type { JsonSchema, Route } from './route.ts';

/** An operation that is compiled once, at its first execution at the latest. */
export interface CompiledOperation<C> {
  execute(context: C, variables: Readonly<Record<string, unknown>>): ExecutionResult | Promise<ExecutionResult>;
}

/** Errors: an Error if the document is not one valid query or mutation. */
export type CompileOperation<C> = (
  schema: GraphQLSchema,
  text: string,
  options: { readonly plainScalars: readonly string[] },
) => CompiledOperation<C>;

/** Custom scalars whose values JSON.stringify writes like the scalars. */
const PLAIN_SCALARS = ['DateTime', 'JSON'];

/** Differences between the revisions of one route. */
interface PreparedVersion {
  readonly parseQuery: ParseQuery;
  readonly trim: Trim | null;
}

/** A route that is checked completely. The functions for its operation, input and text are compiled when first used. */
export interface PreparedRoute<C> {
  readonly route: Route;
  readonly operation: CompiledOperation<C>;
  /** The first root field of the operation. */
  readonly field: { readonly name: string; readonly isMutation: boolean };
  readonly checkBody: CheckValue | null;
  /** Paths to the body; the first that leads to a value is used. */
  readonly picks: readonly (readonly string[])[] | null;
  readonly write: WriteJson;
  readonly total: readonly string[] | null;
  readonly pageInfo: readonly string[] | null;
  /** Operation for the next page of a list in the body. `null` if the route has no such lists. */
  readonly next: { readonly operation: CompiledOperation<C>; readonly pick: readonly string[] } | null;
  readonly status: 200 | 204 | 207;
  readonly versions: Readonly<Record<Revision, PreparedVersion>>;
}

interface Preparation<C> {
  readonly schema: GraphQLSchema;
  readonly compileOperation: CompileOperation<C>;
}

/** Cache by list of routes. */
const prepared = new WeakMap<
  readonly Route[],
  { readonly by: Preparation<never>; readonly routes: ReadonlyMap<Route, PreparedRoute<never>> }
>();

/** Prepares routes. The result does not depend on a server, so servers in one process with the same routes share it. */
export function prepareRoutes<C>(routes: readonly Route[], by: Preparation<C>): ReadonlyMap<Route, PreparedRoute<C>> {
  const known = prepared.get(routes);
  if (known && known.by.schema === by.schema && known.by.compileOperation === by.compileOperation) return known.routes;
  const ajv = createValidator();
  const created = new Map<Route, PreparedRoute<C>>();
  for (const route of routes) created.set(route, prepareRoute(route, { ...by, ajv }));
  prepared.set(routes, { by, routes: created });
  return created;
}

/** Errors: an Error if the route is invalid, so that the start fails instead of a request. */
export function prepareRoute<C>(
  route: Route,
  { schema, ajv, compileOperation }: Preparation<C> & { readonly ajv: Ajv2020 },
): PreparedRoute<C> {
  try {
    const document = parse(route.operation);
    // Validates the document, which the following lines rely on.
    const operation = compileOperation(schema, route.operation, { plainScalars: PLAIN_SCALARS });
    const spellings = spellingsOf(route, schema);
    // With `@include` a key may be absent. The writer omits it.
    const data = responseKeys(schema, visit(document, { Directive: () => null }));
    if (data === null) throw new Error('types select the same keys in different orders, or too many');
    const status = route.status ?? 200;
    if (status !== 204 && route.pick === undefined)
      throw new Error('"pick" is missing: a response with a body requires it');
    const picks = typeof route.pick === 'string' ? [route.pick] : (route.pick ?? []);
    const [picked = null] = picks.map((pick) => selected(data, pick));
    const body = picked instanceof Map ? picked : null;
    if (picked && !body && writtenFor(picked as GraphQLOutputType, spellings))
      throw new Error('an enum cannot be a whole body');
    if (route.total !== undefined) selected(data, route.total);
    if (route.stream !== undefined) {
      selected(data, `${route.stream.pageInfo}.hasNextPage`);
      selected(data, `${route.stream.pageInfo}.endCursor`);
    }
    const versions = Object.fromEntries(
      REVISIONS.map((revision) => [revision, prepareVersion(route, { body, ajv, spellings }, revision)]),
    ) as Record<Revision, PreparedVersion>;
    return {
      route,
      operation,
      field: fieldOf(document),
      checkBody: route.body ? compileCheck(ajv, route.body) : null,
      picks: route.pick == null ? null : picks.map((pick) => pick.split('.')),
      write: body && picks.length === 1 ? writerOf(body) : boundedJson,
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

/** Compiles the writer at its first use. */
function writerOf(keys: ResponseKeys): WriteJson {
  let write: WriteJson | null = null;
  return (value) => {
    write ??= createJsonWriter(keys);
    return write(value);
  };
}

function fieldOf(document: DocumentNode): PreparedRoute<never>['field'] {
  const operation = operationOf(document);
  const [first] = operation?.selectionSet.selections ?? [];
  if (first?.kind !== Kind.FIELD) throw new Error('the first selection of the operation is not a field');
  return { name: first.name.value, isMutation: operation?.operation === OperationTypeNode.MUTATION };
}

const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };

function prepareVersion(
  route: Route,
  {
    body,
    ajv,
    spellings,
  }: { readonly body: ResponseKeys | null; readonly ajv: Ajv2020; readonly spellings: Spellings },
  revision: Revision,
): PreparedVersion {
  const { query = {}, response = {} } = route.revisions ?? {};
  return {
    parseQuery: compileQuery(ajv, route.query ?? NO_PARAMETERS, {
      hidden: new Set(missingIn(revision, query)),
      single: route.singleBy,
    }),
    trim:
      body && compileTrim(body, { omitNull: route.omitNull ?? [], hidden: missingIn(revision, response), spellings }),
  };
}

function missingIn(revision: Revision, existences: Readonly<Record<string, Existence>>): string[] {
  return Object.keys(existences).filter((name) => !existsIn(revision, existences[name] ?? {}));
}

export function queryIn(revision: Revision, { query, revisions }: Route): JsonSchema | undefined {
  if (!query || !revisions?.query) return query;
  const missing = missingIn(revision, revisions.query);
  const properties = Object.entries((query.properties ?? {}) as Record<string, JsonSchema>);
  return { ...query, properties: Object.fromEntries(properties.filter(([name]) => !missing.includes(name))) };
}
