import type { GraphQLParams } from 'graphql-yoga';
import { ServiceError } from '../../../platform/errors.ts';
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
      const parse = async () => readParams(await parsed(() => requestParser(request))) as GraphQLParams;
      setRequestParser(
        () =>
          new Promise((resolve, reject) => {
            const isWanted = () => !request.signal.aborted;
            starts.run(callerOf(serverContext), () => resolve(parse()), isWanted).catch(() => reject(abandoned()));
          }),
      );
    },
  };
}

/** Yoga's parser of the query string throws the error of JSON.parse. */
async function parsed<T>(parse: () => T): Promise<Awaited<T>> {
  try {
    return await parse();
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new ServiceError('INVALID', `The query parameters "variables" and "extensions" must be JSON`, { cause });
  }
}

const abandoned = () => new ServiceError('INVALID', 'The client disconnected before the operation started');
