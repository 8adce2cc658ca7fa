import type { IncomingMessage } from 'node:http';
import { invalid, ServiceError } from '../errors.ts';
import { parseJson } from './input.ts';

/** How much of a body that is too large is still read, so that its sender gets to see the answer; in multiples of the limit. */
const DRAIN_FACTOR = 8;

/** The answer must close the connection: part of the body is still on its way. */
export class UnreadBodyError extends ServiceError {}

/**
 * The JSON body of a request, or `instead` where there is none. Errors: INVALID (not JSON, not said to be JSON), TOO_LARGE (more than
 * `maxBytes`).
 */
export async function readJsonBody(req: IncomingMessage, maxBytes: number, instead?: object): Promise<unknown> {
  const bytes = await readBytes(req, maxBytes);
  if (bytes.length === 0 && instead !== undefined) return instead;
  if (bytes.length > 0 && !isJson(req.headers['content-type'])) {
    throw invalid(
      [{ path: 'Content-Type', reason: 'must be application/json' }],
      `The body must be sent as application/json${req.headers['content-type'] ? `, not as ${req.headers['content-type'].slice(0, 100)}` : ''}`,
    );
  }
  if (req.headers['content-encoding'] !== undefined && req.headers['content-encoding'] !== 'identity') {
    throw invalid([{ path: 'Content-Encoding', reason: 'compressed bodies are not taken' }]);
  }
  return parseJson(decode(bytes));
}

/** JSON with parameters, of which only a charset matters: JSON is UTF-8. */
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
    throw invalid([{ path: '/', reason: 'is not UTF-8' }], 'The body is not well-formed UTF-8');
  }
}

function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = `The body must not have more than ${maxBytes} bytes`;
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length']) > maxBytes * DRAIN_FACTOR) {
      reject(new UnreadBodyError('TOO_LARGE', tooLarge, { info: { maxBytes } }));
      return;
    }
    let chunks: Buffer[] = [];
    let length = 0;
    const finish = (settle: () => void) => {
      req.off('data', take).off('end', end).off('error', fail).off('close', fail);
      settle();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else {
        chunks = [];
        if (length > maxBytes * DRAIN_FACTOR) {
          finish(() => reject(new UnreadBodyError('TOO_LARGE', tooLarge, { info: { maxBytes } })));
        }
      }
    };
    const end = () =>
      finish(() => {
        if (length > maxBytes) reject(new ServiceError('TOO_LARGE', tooLarge, { info: { maxBytes } }));
        else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
      });
    // The caller has gone; whatever is answered reaches nobody.
    const fail = () => finish(() => reject(new UnreadBodyError('INVALID', 'The body ended early')));
    req.on('data', take).on('end', end).on('error', fail).on('close', fail);
  });
}
