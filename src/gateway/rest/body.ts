import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { BodyBytes, noRoom, type Traffic, tooLarge } from '../http/traffic.ts';
import { parseJson } from './input.ts';

/** A body that is too large is read up to this multiple of the limit, so that its sender can read the response. */
const DRAIN_FACTOR = 8;

/** The response must close the connection, because the rest of the body is not read. */
export class UnreadBodyError extends ServiceError {}

interface BodyOptions {
  readonly maxBytes: number;
  /** Counts the bytes of the body. */
  readonly traffic: Traffic;
  /** Value of an empty body. Default: an empty body is INVALID. */
  readonly emptyValue?: object | undefined;
  /** Called with the size of the body before it is parsed. Its errors are rethrown. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Reads the JSON body of a request and returns a function that parses it. Parsing 1 MB takes up to 60 ms, so the caller
 * schedules it. Errors: INVALID (the media type is not JSON), TOO_LARGE (more than `maxBytes`), RATE_LIMITED (the byte
 * budget is used up). Errors of the function: INVALID (the body is not JSON).
 */
export async function readJsonBody(
  req: IncomingMessage,
  res: ServerResponse,
  options: BodyOptions,
): Promise<() => unknown> {
  const { emptyValue } = options;
  const bytes = await readBytes(req, res, options);
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

function readBytes(req: IncomingMessage, res: ServerResponse, { maxBytes, traffic }: BodyOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length']) > maxBytes * DRAIN_FACTOR) {
      reject(unread(tooLarge(maxBytes)));
      return;
    }
    let pieces: Buffer[] = [];
    let length = 0;
    const finish = (settle: () => void) => {
      req.off('data', take).off('end', end).off('error', fail).off('close', fail);
      settle();
    };
    const refuse = (error: ServiceError) =>
      finish(() => {
        pieces = [];
        counted.release();
        reject(unread(error));
      });
    const counted = new BodyBytes(traffic, req, res, () => refuse(noRoom()));
    const take = (piece: Buffer) => {
      length += piece.length;
      if (length <= maxBytes) {
        pieces.push(piece);
        counted.add(piece);
      } else if (length > maxBytes * DRAIN_FACTOR) refuse(tooLarge(maxBytes));
      else if (pieces.length > 0) {
        pieces = [];
        counted.release();
      }
    };
    const end = () =>
      finish(() => {
        counted.pin();
        if (length > maxBytes) reject(tooLarge(maxBytes));
        else resolve(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces));
      });
    // The client closed the connection, so no response reaches it.
    const fail = () => refuse(new ServiceError('INVALID', 'The connection closed before the body was complete'));
    req.on('data', take).on('end', end).on('error', fail).on('close', fail);
  });
}

const unread = ({ code, message, info }: ServiceError) => new UnreadBodyError(code, message, info ? { info } : {});
