import type { Existence } from './revisions.ts';
import type { Tag } from './tags.ts';
import type { DocumentedValue } from './values.ts';

type RouteMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** JSON Schema 2020-12. One with a `title` becomes a named component of the OpenAPI document. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** Input of a request, decoded, validated and coerced. Keys that were not sent are absent. */
export interface RouteInput {
  /** Path parameters by name; never empty. */
  readonly params: Readonly<Record<string, string>>;
  /** Declared query parameters, with their declared types. */
  readonly query: Readonly<Record<string, unknown>>;
  /** JSON body that matches the route's schema; an empty object for routes without a body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** JSON body if the route's schema describes an array; otherwise empty. */
  readonly list: readonly unknown[];
}

/** Documented spelling of each value of a GraphQL enum, by the value's GraphQL name. */
export type Spelling = Readonly<Record<string, string>>;

/**
 * One route of the REST interface. Aliases in the operation are the documented keys, so the operation is the mapping.
 * `variables` and `values` are the only code: a route that would need an `if` needs a new field in the graph instead.
 */
export interface Route extends Existence {
  readonly method: RouteMethod;
  /** Path with parameters in braces: `/api/projects/{projectId}/brokers`. */
  readonly path: string;
  /** Section of the interface document. Absent for routes beyond it. Not part of any response. */
  readonly section?: string;
  /** Name of the operation in the OpenAPI document and in generated clients: unique, stable, a verb and a noun. */
  readonly operationId: string;
  readonly summary: string;
  /** Further words that the search of the HTML page finds the route by. */
  readonly keywords?: string;
  readonly description?: string;
  readonly tag: Tag;
  readonly params?: Readonly<Record<string, string>>;
  /** Object schema of the query parameters. Undeclared parameters are INVALID, except for `token`. */
  readonly query?: JsonSchema;
  /** Default: a body is ignored. The HTML page shows the first of the schema's `examples`. */
  readonly body?: JsonSchema;
  /** Whether a missing body is `{}`. Default: false, a missing body is INVALID. */
  readonly isBodyOptional?: boolean;
  /** Keys of the request by the name in the operation's input, if more than case and underscores differs. */
  readonly inputNames?: Readonly<Record<string, string>>;
  /** Field of the operation's input that has the keys of the request. Default: the input itself. */
  readonly inputKey?: string;
  readonly operation: string;
  /** Default: the path parameters. */
  readonly variables?: (input: RouteInput) => Record<string, unknown>;
  /**
   * Path with dots from `data` to the body; the first of several that leads to a value. `null`: the body is an empty
   * object.
   */
  readonly pick?: string | readonly string[] | null;
  /** Message of NOT_FOUND if the query contains the id or name. */
  readonly notFound?: (input: RouteInput) => string;
  /** Path with dots from `data` to the number for `X-Total-Count`, or to the whole list, which is counted. */
  readonly total?: string;
  /** Default: 200. */
  readonly status?: 200 | 204 | 207;
  readonly response?: JsonSchema;
  /** Documented error statuses. 400, 413 and 429 are possible for every route. */
  readonly errors?: readonly number[];
  /**
   * Paths with dots of keys that are omitted if null. `*` as the last step means every selected key, `!path` excludes
   * one.
   */
  readonly omitNull?: readonly string[];
  /** Spelling by GraphQL enum type, for the enums in the body. Every value must have a spelling. */
  readonly spell?: Readonly<Record<string, Spelling>>;
  /** Documented values by paths with dots: functions of the value in the graph, which may be null, but not absent. */
  readonly values?: Readonly<Record<string, DocumentedValue>>;
  /** With `verbose=false` in the query, each item of the list is replaced by its value of this key. */
  readonly nameKey?: string;
  /** Query parameter that requests a list of a single item, or NOT_FOUND. Other parameters are then ignored. */
  readonly singleBy?: string;
  /**
   * For lists that may be requested completely (if `when` returns true) or with more than a page, which are read page
   * by page.
   */
  readonly stream?: {
    readonly when: (input: RouteInput) => boolean;
    /** Path with dots from `data` to `{ hasNextPage endCursor }`. */
    readonly pageInfo: string;
    readonly pageSize: number;
  };
  /** For bodies that contain long lists. The operation returns the first pages, with `first` of at most `pageSize`. */
  readonly lists?: RouteLists;
  readonly revisions?: {
    readonly query?: Readonly<Record<string, Existence>>;
    /** By path of the key in the body, like in `omitNull` without `*`. */
    readonly response?: Readonly<Record<string, Existence>>;
  };
}

export interface RouteLists {
  /** Maximum number of entries of each list; `Infinity` for all. */
  readonly wanted: (input: RouteInput) => number;
  readonly pageSize: number;
  /** Key of the list in its object. The object also has `pageInfo { hasNextPage endCursor }`, which is not written. */
  readonly key: string;
  /** Keys of these objects in the body, or in each entry of the body. */
  readonly within: readonly string[];
  readonly next: {
    /** Field of the operation's input that has the keys of the request. Default: the input itself. */
    readonly inputKey?: string;
    readonly operation: string;
    /** `first` and `after` are added. `entry` is the object that has the key `within`. */
    readonly variables: (
      input: RouteInput,
      within: string,
      entry: Readonly<Record<string, unknown>>,
    ) => Record<string, unknown>;
    readonly pick: string;
  };
}

/** The GraphQL name of a documented spelling. Undefined and null are returned unchanged. */
export function enumName(spelling: Spelling, text: unknown): string | null | undefined {
  if (text === undefined || text === null) return text;
  for (const name in spelling) if (spelling[name] === text) return name;
  throw new Error(
    `"${String(text)}" is not a spelling of ${Object.keys(spelling).join(', ')}: the route's schema must refuse it`,
  );
}
