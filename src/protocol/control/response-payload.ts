import { type Fields, isFields } from './fields.ts';

/** What arrived on a response topic. Everything in it is the broker's word and checked here; what fits nothing is left out. */
export interface ResponsePayload {
  readonly responses: readonly Answer[];
  readonly events: readonly { readonly type: 'event'; readonly event: string; readonly [field: string]: unknown }[];
  /** The whole payload was one error: nobody serves the API (Mosquitto 2.1). */
  readonly error: string | null;
}

export interface Answer {
  readonly command: string;
  readonly correlationData: string | null;
  readonly data: unknown;
  readonly error: string | null;
}

const NOTHING: ResponsePayload = { responses: [], events: [], error: null };
/** A response answers at most so many commands as a request may hold; more is not for us. */
const MAX_RESPONSES = 10_000;

export function parseResponsePayload(payload: Uint8Array): ResponsePayload {
  const message = parseJson(payload);
  if (!isFields(message)) return NOTHING;
  if (isEvent(message)) return { ...NOTHING, events: [message] };
  if (Array.isArray(message.responses)) {
    const entries: unknown[] = message.responses.slice(0, MAX_RESPONSES);
    return { responses: entries.filter(isFields).map(answerOf), events: entries.filter(isEvent), error: null };
  }
  return typeof message.error === 'string' ? { ...NOTHING, error: message.error } : NOTHING;
}

function isEvent(value: unknown): value is ResponsePayload['events'][number] {
  return isFields(value) && value.type === 'event' && typeof value.event === 'string';
}

function answerOf(fields: Fields): Answer {
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

/** Refusals of a request as a whole. They carry no correlation data, so nobody knows whose it was. */
const STRUCTURAL = new Set([
  'Payload not valid JSON',
  'Invalid/missing commands',
  'Command not an object',
  'Missing command',
  'Invalid correlationData data type.',
]);

export const isStructuralError = (answer: Answer): boolean =>
  answer.correlationData === null && answer.error !== null && STRUCTURAL.has(answer.error);
