import type { RequiredRole } from '../../platform/auth/viewer.ts';
import type { Existence } from './revisions.ts';

export type RouteMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** JSON Schema 2020-12. One with a `title` becomes a named component of the OpenAPI document. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** What a request brought, decoded, checked and coerced. Absent keys were not sent. */
export interface RouteInput {
  /** Path parameters by name; never empty. */
  readonly params: Readonly<Record<string, string>>;
  /** The query parameters that the route declares, as the types it declares. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The JSON body as the route's schema describes it; an empty object for routes without one. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The JSON body where the route's schema describes an array; else empty. */
  readonly list: readonly unknown[];
}

/** Documented spelling of each value of a GraphQL enum, by the value's GraphQL name. */
export type Spelling = Readonly<Record<string, string>>;

/**
 * One entry of the REST interface: which operation on the graph answers it, how variables are filled, and where in the data
 * the body is. Aliases in the operation give the documented keys, so the operation is the mapping. There is no code beyond
 * `variables`; an entry that would need an `if` misses a field in the graph.
 */
export interface Route extends Existence {
  readonly method: RouteMethod;
  /** Parameters in braces: `/api/projects/{projectId}/brokers`. */
  readonly path: string;
  /** Checked before the input is read; the operation's fields check again, with what only they know. */
  readonly role: RequiredRole;
  /** Section of the interface's description; absent for entries beyond it. Nobody is shown it. */
  readonly section?: string;
  readonly summary: string;
  readonly description?: string;
  /** Group on the page for people; by default made of the section. */
  readonly tags?: readonly string[];
  /** Descriptions of path parameters, by name. */
  readonly params?: Readonly<Record<string, string>>;
  /**
   * An object schema whose properties are the query parameters. `integer`, `number` and `boolean` are coerced from well-formed
   * text only. Absent: there are none. Whatever is sent and not declared is refused as INVALID; only `token` is known everywhere.
   */
  readonly query?: JsonSchema;
  /**
   * Absent: a body that is sent is not looked at. Unknown keys are refused where the schema says so. The first of its `examples` is
   * what the page for people shows to send.
   */
  readonly body?: JsonSchema;
  /** No body is `{}`. */
  readonly isBodyOptional?: boolean;
  /** Keys of the request by the names that the operation's input has for them, where more than case and underscores differs. */
  readonly inputNames?: Readonly<Record<string, string>>;
  /** A GraphQL document with one operation. */
  readonly operation: string;
  readonly variables?: (input: RouteInput) => Record<string, unknown>;
  /**
   * Dots lead from `data` to the body; of several the first that leads to something. A null on the way is NOT_FOUND. Null: the body is an
   * empty object. Not needed with 204.
   */
  readonly pick?: string | readonly string[] | null;
  /** What the NOT_FOUND of `pick` says; for entries whose query names what is looked for. */
  readonly notFound?: (input: RouteInput) => string;
  /** Dots lead from `data` to the number told as `X-Total-Count`. */
  readonly total?: string;
  /** Absent: 200. */
  readonly status?: 200 | 204 | 207;
  readonly response?: JsonSchema;
  /** Statuses documented beside the success; 400, 413 and 429 may come where they are not documented. */
  readonly errors?: readonly number[];
  /**
   * Keys left out of the body instead of being null. Dots lead from the body, through lists, to the key; `*` as the last step
   * means every key selected there, `!path` takes one out again: `['*', 'queues.*', '!lastDisconnect']`.
   */
  readonly omitNull?: readonly string[];
  /** GraphQL enum type → spelling, for the enums that the body shows. Every value must be spelled. */
  readonly spell?: Readonly<Record<string, Spelling>>;
  /** With `verbose=false` in the query a list's items are replaced by this key of theirs. */
  readonly nameKey?: string;
  /** The query parameter that asks for one item of a list alone: with it the other declared ones are ignored, and not even checked. */
  readonly singleBy?: string;
  /**
   * For lists that may be asked for whole (`count=-1`, where `when` is true) or for more than a page (`first` above `pageSize`): the
   * variables `first`, `after` and `offset` are replaced for each page and pages are written one by one, so that the list never
   * stands in memory.
   */
  readonly stream?: {
    readonly when: (input: RouteInput) => boolean;
    /** Dots lead from `data` to `{ hasNextPage endCursor }`. */
    readonly pageInfo: string;
    readonly pageSize: number;
  };
  /**
   * For bodies that are objects, or lists of objects, with long lists in them: each list is read and written page by page, so that it
   * never stands in memory. The operation gives the first pages, with `first` as `wanted` and at most `pageSize`.
   */
  readonly lists?: RouteLists;
  /** What older revisions lack, and newer ones have dropped. */
  readonly revisions?: {
    /** By name of the query parameter. */
    readonly query?: Readonly<Record<string, Existence>>;
    /** By path of the key in the body, as in `omitNull` without `*`. */
    readonly response?: Readonly<Record<string, Existence>>;
  };
}

export interface RouteLists {
  /** Entries of each list at most; Infinity: all. */
  readonly wanted: (input: RouteInput) => number;
  readonly pageSize: number;
  /** Key of the list in the object that it is a part of; beside it stands `pageInfo { hasNextPage endCursor }`, which is not told. */
  readonly key: string;
  /** Keys of these objects in the body, or in each entry of it. */
  readonly within: readonly string[];
  /** The next page of one of them. */
  readonly next: {
    readonly operation: string;
    /** Beside these come `first` and `after`. `entry`: the object that has the key `within`. */
    readonly variables: (
      input: RouteInput,
      within: string,
      entry: Readonly<Record<string, unknown>>,
    ) => Record<string, unknown>;
    /** Dots lead from `data` to an object with the list and `pageInfo`. */
    readonly pick: string;
  };
}

/** The GraphQL name behind a documented spelling; undefined and null stay as they are, so that absent keys stay absent. */
export function enumName(spelling: Spelling, text: unknown): string | null | undefined {
  if (text === undefined || text === null) return text;
  for (const name in spelling) if (spelling[name] === text) return name;
  throw new Error(
    `"${String(text)}" is no spelling of ${Object.keys(spelling).join(', ')}; the route's schema must refuse it`,
  );
}
