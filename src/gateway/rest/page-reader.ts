import { setImmediate as nextIteration } from 'node:timers/promises';
import type { ExecutionResult } from 'graphql';
import type { RequiredRole } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import type { ContextFor } from '../graphql/endpoint.ts';
import type { CompiledOperation } from '../graphql/internal-operation.ts';
import { type ErrorLog, type PublicError, publicResult } from '../graphql/public-error.ts';
import { isTooLarge, ResponseTooLarge } from '../graphql/response-limit.ts';
import type { Traffic } from '../http/traffic.ts';
import { type FetchPage, type ListPage, listPieces, longLists, pageOf } from './long-lists.ts';
import { type Call, follow, textOf } from './response-body.ts';
import { jsonOf, listOf } from './responses.ts';
import type { RestRequest } from './rest-request.ts';

export interface PageReaderOptions {
  readonly contextFor: ContextFor;
  /** Checks the caller. Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED. */
  readonly authorize: (context: RequestContext, role: RequiredRole, params: Readonly<Record<string, string>>) => void;
  readonly log: ErrorLog;
  readonly traffic: Traffic;
}

export interface Pages {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly pageSize: number;
  /** Requested number of entries. `Infinity`: all. */
  readonly wanted: number;
}

interface ListResponse extends Pages {
  readonly first: ListPage;
  readonly total: number | undefined;
}

/** Creates responses with lists that are read page by page, so that at most one page of a list is in memory. */
export class PageReader {
  readonly #options: PageReaderOptions;

  constructor(options: PageReaderOptions) {
    this.#options = options;
  }

  list(call: Call, list: ListResponse): Response {
    return this.#inPieces(call, listPieces(list.first, this.#nextPage(call, list)), list.total);
  }

  bodyWithLists(call: Call, body: unknown): Response {
    const { rest, prepared, input } = call;
    const { route, next, versions, status, write } = prepared;
    const { lists } = route;
    versions[rest.revision].trim?.(body);
    if (isTooLarge(body)) throw new ResponseTooLarge();
    const piecesOf = lists && longLists(body, { ...lists, wanted: lists.wanted(input) });
    if (!lists || !piecesOf || next === null) {
      return jsonOf(rest, write(body), { status, traffic: this.#options.traffic });
    }
    const fetchPage: FetchPage = async ({ within, entry }, first, after) => {
      const variables = { ...lists.next.variables(input, within, entry), first, after };
      const result = await this.#fetch(call, next.operation, variables);
      const page = follow(result.data, next.pick);
      if (page === null || page === undefined) throw new Error('The list no longer exists');
      return page as Record<string, unknown>;
    };
    return this.#inPieces(call, piecesOf(fetchPage));
  }

  /** The first error of a result as the caller may read it. `undefined` if the result has none. */
  firstError({ requestId }: RestRequest, result: ExecutionResult): PublicError | undefined {
    return result.errors ? publicResult(result, { requestId, log: this.#options.log }).errors?.[0] : undefined;
  }

  #inPieces({ rest, prepared: { status, route } }: Call, pieces: AsyncGenerator<string>, total?: number): Response {
    const onError = (err: unknown) => {
      const fields = { err, requestId: rest.requestId, path: route.path };
      this.#options.log.error(fields, 'The response of a list ended with an error');
    };
    return listOf(rest, pieces, { status, total, onError });
  }

  #nextPage(call: Call, { variables, pageSize, wanted }: Pages): (after: string | null) => Promise<ListPage> {
    const { operation, pageInfo } = call.prepared;
    let left = wanted - pageSize;
    return async (after) => {
      const first = Math.min(pageSize, left);
      left -= first;
      const pageVariables = { ...variables, first, after, offset: 0 };
      const result = await this.#fetch(call, operation, pageVariables);
      const { hasNextPage, endCursor } = pageOf(result, pageInfo);
      const text = textOf(call, result);
      return { text, hasNextPage: hasNextPage && left > 0, endCursor };
    };
  }

  /** Reads a further page. The client decides how long a list takes, so the caller is checked again for each page. */
  async #fetch(
    { rest, prepared: { role }, input: { params } }: Call,
    operation: CompiledOperation,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<ExecutionResult> {
    const { contextFor, authorize } = this.#options;
    // Cached lists may be read as fast as they are written, so other requests are handled between two pages.
    await nextIteration();
    rest.isContinued = true;
    const context = await contextFor(rest);
    authorize(context, role, params);
    const result = await operation.execute(context, variables);
    const error = this.firstError(rest, result);
    if (error) throw new ServiceError(error.extensions.code, error.message);
    return result;
  }
}
