import type { Ajv2020 } from 'ajv/dist/2020.js';
import { type GraphQLOutputType, type GraphQLSchema, Kind, OperationTypeNode, visit } from 'graphql';
import type { RequiredRole } from '../../platform/auth/viewer.ts';
import { messageOf } from '../../platform/errors.ts';
import { type CheckValue, compileCheck, createValidator } from '../../platform/text/json-schema.ts';
import type { OperationDocument } from '../graphql/document.ts';
import { type CompiledOperation, compileOperation } from '../graphql/internal-operation.ts';
import { createJsonWriter, type WriteJson } from '../graphql/json-writer.ts';
import { type ResponseKeys, responseKeys } from '../graphql/response-keys.ts';
import { boundedJson } from '../graphql/response-limit.ts';
import { compileTrim, type Spellings, selected, spellingsOf, type Trim, writtenFor } from './body-keys.ts';
import { compileQuery, type ParseQuery } from './input.ts';
import { type Existence, existsIn, REVISIONS, type Revision } from './revisions.ts';
import type { JsonSchema, Route } from './route.ts';
import { roleOf } from './route-role.ts';

/** JSON.stringify writes the values of all custom scalars (DateTime, JSON) like the scalars. */
const RAW_LEAVES = { hasRawLeaves: true } as const;

interface PreparedVersion {
  readonly parseQuery: ParseQuery;
  readonly trim: Trim | null;
}

/** A route that is checked completely. The functions for its operation, input and text are compiled when first used. */
export interface PreparedRoute {
  readonly route: Route;
  readonly operation: CompiledOperation;
  readonly role: RequiredRole;
  /** The first root field of the operation. */
  readonly field: { readonly name: string; readonly kind: string; readonly isMutation: boolean };
  readonly checkBody: CheckValue | null;
  /** Paths to the body; the first that leads to a value is used. */
  readonly picks: readonly (readonly string[])[] | null;
  readonly write: WriteJson;
  readonly total: readonly string[] | null;
  readonly pageInfo: readonly string[] | null;
  /** Operation for the next page of a list in the body. `null` if the route has no such lists. */
  readonly next: { readonly operation: CompiledOperation; readonly pick: readonly string[] } | null;
  readonly status: 200 | 204 | 207;
  readonly versions: Readonly<Record<Revision, PreparedVersion>>;
}

export type PrepareRoute = (route: Route) => PreparedRoute;

const preparers = new WeakMap<GraphQLSchema, PrepareRoute>();

/**
 * Prepares each route when it is first used, and once for all servers of a process: preparing all of them makes a start
 * 0.2 s longer. Errors: see prepareRoute.
 */
export function routePreparer(schema: GraphQLSchema): PrepareRoute {
  const known = preparers.get(schema);
  if (known) return known;
  const ajv = createValidator();
  const prepared = new Map<Route, PreparedRoute>();
  const prepare: PrepareRoute = (route) => {
    const ready = prepared.get(route) ?? prepareRoute(route, schema, ajv);
    prepared.set(route, ready);
    return ready;
  };
  preparers.set(schema, prepare);
  return prepare;
}

/** Errors: an Error with the method and path of the route if it is invalid. */
function prepareRoute(route: Route, schema: GraphQLSchema, ajv: Ajv2020): PreparedRoute {
  try {
    // Validates the document, which the following lines rely on.
    const operation = compileOperation(schema, route.operation, RAW_LEAVES);
    const spellings = spellingsOf(route, schema);
    const { document } = operation;
    // With `@include` a key may be absent. The writer omits it.
    const data = responseKeys(schema, visit(document, { Directive: () => null }));
    if (!data) throw new Error('types select the same keys in different orders, or too many');
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
    return {
      route,
      operation,
      role: roleOf(route, schema),
      field: fieldOf(document),
      checkBody: route.body ? compileCheck(ajv, route.body) : null,
      picks: route.pick == null ? null : picks.map((pick) => pick.split('.')),
      write: body && picks.length === 1 ? writerOf(body) : boundedJson,
      total: route.total?.split('.') ?? null,
      pageInfo: route.stream?.pageInfo.split('.') ?? null,
      next: route.lists
        ? {
            operation: compileOperation(schema, route.lists.next.operation, RAW_LEAVES),
            pick: route.lists.next.pick.split('.'),
          }
        : null,
      status,
      versions: Object.fromEntries(
        REVISIONS.map((revision) => [revision, prepareVersion(route, ajv, body, spellings, revision)]),
      ) as Record<Revision, PreparedVersion>,
    };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(`${route.method} ${route.path} cannot be served: ${reason}`, { cause });
  }
}

function writerOf(keys: ResponseKeys): WriteJson {
  let write: WriteJson | null = null;
  return (value) => {
    write ??= createJsonWriter(keys);
    return write(value);
  };
}

function fieldOf({ definitions: [{ operation, selectionSet }] }: OperationDocument): PreparedRoute['field'] {
  const [first] = selectionSet.selections;
  if (first?.kind !== Kind.FIELD) throw new Error('the first selection of the operation is not a field');
  return { name: first.name.value, kind: operation, isMutation: operation === OperationTypeNode.MUTATION };
}

const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };

function prepareVersion(
  { query = NO_PARAMETERS, singleBy: single, omitNull = [], values = {}, revisions = {} }: Route,
  ajv: Ajv2020,
  body: ResponseKeys | null,
  spellings: Spellings,
  revision: Revision,
): PreparedVersion {
  const hidden = missingIn(revision, revisions.response);
  return {
    parseQuery: compileQuery(ajv, query, { hidden: new Set(missingIn(revision, revisions.query)), single }),
    trim: body && compileTrim(body, { omitNull, hidden, spellings, values }),
  };
}

function missingIn(revision: Revision, existences: Readonly<Record<string, Existence>> = {}): string[] {
  return Object.keys(existences).filter((name) => !existsIn(revision, existences[name] ?? {}));
}

export function queryIn(revision: Revision, { query, revisions }: Route): JsonSchema | undefined {
  if (!query || !revisions?.query) return query;
  const missing = missingIn(revision, revisions.query);
  const properties = Object.entries((query.properties ?? {}) as Record<string, JsonSchema>);
  return { ...query, properties: Object.fromEntries(properties.filter(([name]) => !missing.includes(name))) };
}
