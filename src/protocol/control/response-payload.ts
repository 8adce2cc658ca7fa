import { type Fields, isFields } from './fields.ts';

interface ResponsePayload {
  readonly responses: readonly ParsedResponse[];
  readonly events: readonly { readonly type: 'event'; readonly event: string; readonly [field: string]: unknown }[];
  /** Set if the payload is a single error: the API is not served (Mosquitto 2.1). */
  readonly error: string | null;
}

interface ParsedResponse {
  readonly command: string;
  readonly correlationData: string | null;
  readonly data: unknown;
  readonly error: string | null;
}

const EMPTY: ResponsePayload = { responses: [], events: [], error: null };
/** A request has at most this many commands, so further responses belong to other clients. */
const MAX_RESPONSES = 10_000;

export function parseResponsePayload(payload: Uint8Array): ResponsePayload {
  const message = parseJson(payload);
  if (!isFields(message)) return EMPTY;
  if (isEvent(message)) return { ...EMPTY, events: [message] };
  const { responses, error } = message;
  // The embedded broker adds `responses: []` to an error.
  if (typeof error === 'string' && (!Array.isArray(responses) || responses.length === 0)) return { ...EMPTY, error };
  if (!Array.isArray(responses)) return EMPTY;
  const entries: unknown[] = responses.slice(0, MAX_RESPONSES);
  return { responses: entries.filter(isFields).map(responseOf), events: entries.filter(isEvent), error: null };
}

function isEvent(value: unknown): value is ResponsePayload['events'][number] {
  return isFields(value) && value.type === 'event' && typeof value.event === 'string';
}

function responseOf(fields: Fields): ParsedResponse {
  const { command, correlationData, data, error } = fields;
  return {
    command: typeof command === 'string' ? command : '',
    correlationData: typeof correlationData === 'string' ? correlationData : null,
    data,
    error: error === undefined || error === null ? null : typeof error === 'string' ? error : 'Unreadable error',
  };
}

function parseJson(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString());
  } catch {
    return null;
  }
}

/** Errors of requests that the broker cannot read. They have no correlation data, so the request is unknown. */
const STRUCTURAL = new Set([
  'Payload not valid JSON',
  'Invalid/missing commands',
  'Command not an object',
  'Missing command',
  'Invalid correlationData data type.',
]);

export const isStructuralError = (response: ParsedResponse): boolean =>
  response.correlationData === null && response.error !== null && STRUCTURAL.has(response.error);
