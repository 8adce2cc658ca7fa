import { invalid, ServiceError } from '../../platform/errors.ts';
import { hasFewShapes, TOO_MANY_SHAPES } from '../../platform/text/json-bounds.ts';
import { parseJson } from './input.ts';

/**
 * Returns a function that parses the bytes of a JSON body. Parsing 1 MB takes up to 60 ms, so the caller schedules it.
 * `emptyValue` is the value of an empty body; without it an empty body is INVALID. Errors: INVALID and TOO_LARGE, also
 * of the returned function.
 */
export function bodyParser({ headers }: Request, bytes: Buffer, emptyValue: object | undefined): () => unknown {
  if (bytes.length === 0 && emptyValue !== undefined) return () => emptyValue;
  const type = headers.get('content-type');
  if (bytes.length > 0 && !isJson(type)) {
    throw invalid(
      [{ path: 'Content-Type', reason: 'must be application/json' }],
      `The body must be sent as application/json${type ? `, not as ${type.slice(0, 100)}` : ''}`,
    );
  }
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    throw invalid([{ path: 'Content-Encoding', reason: 'must be absent: compressed bodies are not supported' }]);
  }
  return () => {
    if (!hasFewShapes(bytes)) throw new ServiceError('TOO_LARGE', TOO_MANY_SHAPES);
    return parseJson(decode(bytes));
  };
}

/** Accepts JSON media types with any parameters, except for a charset other than UTF-8. */
function isJson(contentType: string | null): boolean {
  if (contentType === null) return false;
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
