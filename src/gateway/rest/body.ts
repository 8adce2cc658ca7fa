import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalid } from '../../platform/errors.ts';
import { type BodyLimits, bodyOf } from '../http/read-body.ts';
import { parseJson } from './input.ts';

interface BodyOptions extends BodyLimits {
  /** Value of an empty body. Default: an empty body is INVALID. */
  readonly emptyValue?: object | undefined;
  /** Called before the body is parsed. Its errors are rethrown. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Reads the JSON body of a request and returns a function that parses it. Parsing 1 MB takes up to 60 ms, so the caller
 * schedules it. Errors: INVALID, TOO_LARGE, RATE_LIMITED (the byte budget is used up).
 */
export async function readJsonBody(
  req: IncomingMessage,
  res: ServerResponse,
  options: BodyOptions,
): Promise<() => unknown> {
  const { emptyValue } = options;
  const bytes = await bodyOf(req, res, options);
  options.onBytes(bytes.length);
  if (bytes.length === 0 && emptyValue !== undefined) return () => emptyValue;
  if (bytes.length > 0 && !isJson(req.headers['content-type'])) {
    throw invalid(
      [{ path: 'Content-Type', reason: 'must be application/json' }],
      `The body must be sent as application/json${req.headers['content-type'] ? `, not as ${req.headers['content-type'].slice(0, 100)}` : ''}`,
    );
  }
  if (req.headers['content-encoding'] !== undefined && req.headers['content-encoding'] !== 'identity') {
    throw invalid([{ path: 'Content-Encoding', reason: 'must be absent: compressed bodies are not supported' }]);
  }
  return () => parseJson(decode(bytes));
}

/** Accepts JSON media types with any parameters, except for a charset other than UTF-8. */
function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  if (contentType === 'application/json') return true;
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  if (!/^application\/([\w.-]+\+)?json$/.test(type.trim())) return false;
  return parameters.every((parameter) => !/^\s*charset\s*=/.test(parameter) || /=\s*"?utf-?8"?\s*$/.test(parameter));
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid([{ path: '/', reason: 'is not UTF-8' }], 'The body is not valid UTF-8');
  }
}
