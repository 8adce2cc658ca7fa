import { ServiceError } from '../../../platform/errors.ts';
import { fieldsOf, integerOf, isFields, listIn, timeOf } from '../../control/fields.ts';
import type { ControlCaller } from '../../control/plugin.ts';
import { INSPECT_API } from './inspect-control.ts';

/**
 * Traffic of clients and topics, an extension of `cedalo/inspect` by the embedded broker: `listTopClients` (`by`,
 * `last`, `count`), `listTopTopics` (also `levels`), and `getLastPublisher` (`topic`).
 */
export const TRAFFIC_MEASURES = ['MESSAGES_IN', 'MESSAGES_OUT', 'BYTES_IN', 'BYTES_OUT'] as const;
export type TrafficMeasure = (typeof TRAFFIC_MEASURES)[number];

/** Messages of publishers and their payload bytes. */
export const TOPIC_MEASURES = ['MESSAGES_IN', 'BYTES_IN'] as const satisfies readonly TrafficMeasure[];
export type TopicMeasure = (typeof TOPIC_MEASURES)[number];

export const TRAFFIC_WINDOWS = ['MINUTE', 'HOUR'] as const;
export type TrafficWindow = (typeof TRAFFIC_WINDOWS)[number];

export const MAX_TOP = 100;
/** Topics are also counted by their first levels, up to this number. */
export const MAX_COUNTED_LEVELS = 3;

export interface TopList {
  /** The true total of an entry is between `count` and `count + maxError`. */
  readonly entries: readonly { readonly name: string; readonly count: number }[];
  /** 0 if all names were counted. */
  readonly maxError: number;
  /** What all names have together. */
  readonly total: number;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
}

interface TopRequest {
  readonly by: TrafficMeasure;
  readonly last: TrafficWindow;
  readonly count: number;
}

/** Errors: as `ControlCaller`; NOT_SUPPORTED_BY_BROKER. */
export const listTopClients = (caller: ControlCaller, request: TopRequest): Promise<TopList> =>
  topList(caller, 'listTopClients', { ...request });

/** `levels`: number of first levels; `null` for whole topics. Errors: as `listTopClients`. */
export const listTopTopics = (
  caller: ControlCaller,
  request: TopRequest & { readonly levels: number | null },
): Promise<TopList> => topList(caller, 'listTopTopics', { ...request });

export interface LastPublisher {
  readonly clientId: string;
  /** Epoch milliseconds, about a second exact. */
  readonly at: number;
}

/** Returns `null` if it is not known. Errors: as `listTopClients`. */
export async function getLastPublisher(caller: ControlCaller, topic: string): Promise<LastPublisher | null> {
  const data = await caller.call(INSPECT_API, 'getLastPublisher', { topic });
  if (!isFields(data) || typeof data.clientId !== 'string') return null;
  return { clientId: data.clientId, at: timeOf(data.at) ?? 0 };
}

async function topList(caller: ControlCaller, command: string, fields: Readonly<Record<string, unknown>>) {
  const data = await caller.call(INSPECT_API, command, fields);
  const known = fieldsOf(data);
  const [from, to] = [timeOf(known.from), timeOf(known.to)];
  const [maxError, total] = [known.maxError, known.total].map(integerOf);
  if (from === null || to === null)
    throw new ServiceError('NOT_SUPPORTED_BY_BROKER', 'The broker does not report the traffic of its clients');
  const entries = listIn(data, 'entries')
    .slice(0, MAX_TOP)
    .flatMap((entry) => {
      const count = isFields(entry) ? integerOf(entry.count) : null;
      return isFields(entry) && typeof entry.name === 'string' && count !== null ? [{ name: entry.name, count }] : [];
    });
  return { entries, from, to, maxError: maxError ?? 0, total: total ?? 0 };
}
