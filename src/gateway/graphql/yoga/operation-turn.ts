import type { GraphQLParams } from 'graphql-yoga';
import { ServiceError } from '../../../platform/errors.ts';
import { QueueFull } from '../../../platform/scheduling/concurrency-limit.ts';
import { parseExactJson } from '../../../platform/text/exact-json.ts';
import { requireUniqueKeys } from '../../../platform/text/repeated-key.ts';
import type { Traffic } from '../../http/traffic.ts';
import { readParams } from '../request-params.ts';
import { callerOf, type YogaPlugin } from './yoga-plugin.ts';

/**
 * Waits for the caller's turn before the parameters are parsed, see `OperationStarts`. Nothing between the parser and
 * the operation leaves the event loop iteration, so the turn includes the start of the operation.
 */
export function operationTurn({ starts }: Traffic): YogaPlugin {
  return {
    onRequestParse({ request, requestParser, serverContext, setRequestParser }) {
      if (requestParser === undefined) return;
      const parse = async () => {
        try {
          const parsed = await requestParser(request);
          if (request.method !== 'GET') return readParams(parsed) as GraphQLParams;
          const { searchParams } = new URL(request.url);
          const params = readParams(withExactVariables(parsed, searchParams)) as GraphQLParams;
          requireUnique(searchParams);
          return params;
        } catch (error) {
          // Yoga's parser of the query string throws the error of JSON.parse.
          throw error instanceof SyntaxError ? new ServiceError('INVALID', NOT_JSON, { cause: error }) : error;
        }
      };
      setRequestParser(
        () =>
          new Promise((resolve, reject) => {
            const isWanted = () => !request.signal.aborted;
            starts
              .run(callerOf(serverContext), () => resolve(parse()), isWanted)
              .catch((error) => reject(error instanceof QueueFull ? abandoned() : error));
          }),
      );
    },
  };
}

/** Yoga's parser of the query string rounds numbers. */
function withExactVariables(params: object, parameters: URLSearchParams): object {
  const text = parameters.get('variables');
  return text ? { ...params, variables: parseExactJson(text) } : params;
}

/** Yoga uses the last one of equal parameters or names. */
function requireUnique(parameters: URLSearchParams): void {
  for (const name of ['query', 'variables', 'operationName', 'extensions']) {
    const [text, ...others] = parameters.getAll(name);
    if (others.length > 0) throw new ServiceError('INVALID', `"${name}" must not be repeated`);
    if (text && name !== 'query' && name !== 'operationName') requireUniqueKeys(text);
  }
}

const NOT_JSON = 'The query parameters "variables" and "extensions" must be JSON';
const abandoned = () => new ServiceError('INVALID', 'The client disconnected before the operation started');
