import { invalid, ServiceError, withPlaces } from '../../../platform/errors.ts';
import type { ControlEvent } from '../../../protocol/control/envelope.ts';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { type ListedPages, listPages } from '../../../protocol/control/list-pages.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { modelPlace } from '../definition/definition-issues.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { TimeBounds } from '../model/stream-engine.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';
import { countOf, readReport } from './report-wire.ts';
import { commandFields, readName, readStream, type StreamEntry } from './stream-wire.ts';

/**
 * The `stream-processing` control API: what streams there are, and what they are to do.
 *
 * Errors beside the caller's own: NOT_FOUND (no such stream), ALREADY_EXISTS, INVALID (with `info.issues` where the text tells
 * what is, in places of the model), BROKER_REJECTED with the broker's text. Answers are any broker's: what cannot be read is left out or as a default.
 */
export const STREAM_API = 'stream-processing';

/** What plugins of ours tell when the state or the replay of a stream changed, with `streamname` and `report`. */
export const STREAM_CHANGED = 'streamChanged';

/** Most streams of one broker. */
export const MAX_STREAMS = 10_000;
const MAX_LIST_CHARACTERS = 100_000_000;

export interface StreamPage {
  readonly offset?: number;
  /** -1: all. */
  readonly count?: number;
}

export interface ListedStreams<T> {
  readonly items: readonly T[];
  readonly totalCount: number;
  /** What a plugin of ours could not list, and why. */
  readonly problem?: string;
}

/** What can be read of the list. Errors: as `listStreamPlaces`. */
export async function listStreams(caller: ControlCaller, page: StreamPage = {}): Promise<ListedStreams<StreamEntry>> {
  const { items, ...rest } = await listStreamPlaces(caller, page);
  return { ...rest, items: items.filter((entry) => entry !== null) };
}

/** As the broker lists them, so that places can be counted; null: it cannot be read. Errors: TOO_LARGE for a list beyond reason. */
export async function listStreamPlaces(
  caller: ControlCaller,
  page: StreamPage = {},
): Promise<ListedStreams<StreamEntry | null>> {
  const { items, ...rest } = await pagesOf(caller, true, page);
  return { ...rest, items: items.map(readStream) };
}

/** Errors: as `listStreamPlaces`. */
export async function listStreamNames(caller: ControlCaller, page: StreamPage = {}): Promise<ListedStreams<string>> {
  const { items, ...rest } = await pagesOf(caller, false, page);
  return { ...rest, items: items.map(readName).filter((name) => name !== null) };
}

export async function getStream(caller: ControlCaller, name: string): Promise<StreamEntry> {
  const data = await call(caller, 'getStream', { streamname: name });
  // Documented is the object itself; the Management Center reads it from `stream`.
  const entry = readStream(isFields(data) ? (fieldOf(data, 'stream') ?? data) : data);
  if (entry === null) throw new ServiceError('BROKER_REJECTED', 'The broker told no stream that can be read');
  return entry;
}

/** The flags are sent whatever they are: what a broker takes them for otherwise is not documented. */
export async function createStream(caller: ControlCaller, { name, ...definition }: StreamDefinition): Promise<void> {
  const given = Object.entries(definition).filter(([, value]) => value !== null);
  await call(caller, 'createStream', { streamname: name, ...commandFields(Object.fromEntries(given)) });
}

/** Only what is given changes; null clears. */
export async function modifyStream(
  caller: ControlCaller,
  name: string,
  changes: Partial<Omit<StreamDefinition, 'name'>>,
): Promise<void> {
  await call(caller, 'modifyStream', { streamname: name, ...commandFields(changes) });
}

export async function deleteStream(caller: ControlCaller, name: string): Promise<void> {
  await call(caller, 'deleteStream', { streamname: name });
}

export async function enableStream(caller: ControlCaller, name: string): Promise<void> {
  await call(caller, 'enableStream', { streamname: name });
}

export async function disableStream(caller: ControlCaller, name: string): Promise<void> {
  await call(caller, 'disableStream', { streamname: name });
}

export async function clearStreamMessages(caller: ControlCaller, name: string, bounds: TimeBounds): Promise<void> {
  await call(caller, 'clearStreamMessages', { streamname: name, ...boundFields(bounds) });
}

/** Brokers may tell an estimate; plugins of ours count. */
export async function getStreamMessageCount(caller: ControlCaller, name: string): Promise<number> {
  const data = await call(caller, 'getStreamMessageCount', { streamname: name });
  return isFields(data) ? countOf(fieldOf(data, 'count')) : 0;
}

/** Errors: IN_USE while another replay of the stream runs, where a plugin of ours says so. */
export async function replayStream(caller: ControlCaller, name: string, request: ReplayRequest): Promise<void> {
  const { topic, limit, speed, reverse } = request;
  await call(caller, 'replayStream', {
    streamname: name,
    replaytopic: topic,
    ...boundFields(request),
    limit: limit ?? -1,
    speed: speed === 1 ? 'original' : speed,
    reverse,
  });
}

/** Where none runs a plugin of ours has nothing against it. */
export async function stopStreamReplay(caller: ControlCaller, name: string): Promise<void> {
  await call(caller, 'stopStreamReplay', { streamname: name });
}

/** Silent where a broker serves the API that tells no such events. */
export function onStreamChanged(
  caller: ControlCaller,
  listener: (change: { readonly name: string; readonly report: StreamReport }) => void,
): Stop {
  return caller.onEvent(STREAM_API, ({ event, streamname, report: told }: ControlEvent) => {
    const report = event === STREAM_CHANGED ? readReport(told) : null;
    if (report !== null && typeof streamname === 'string') listener({ name: streamname, report });
  });
}

/** The API counts in seconds. */
const boundFields = ({ from, to }: TimeBounds) => ({
  ...(from === null ? {} : { gte: from / 1_000 }),
  ...(to === null ? {} : { lte: to / 1_000 }),
});

async function call(caller: ControlCaller, command: string, fields: Readonly<Record<string, unknown>>) {
  try {
    return await caller.call(STREAM_API, command, fields);
  } catch (error) {
    throw error instanceof ServiceError ? withPlaces(withIssue(error), modelPlace) : error;
  }
}

/** What a plugin of ours refused over MQTT, where there is only the text. */
function withIssue(error: ServiceError): ServiceError {
  if (error.code !== 'INVALID' || error.info?.issues !== undefined) return error;
  const [, path, reason] = /^Invalid (\/\S*): (.+)$/s.exec(String(error.info?.brokerError)) ?? [];
  return path === undefined || reason === undefined ? error : invalid([{ path, reason }]);
}

async function pagesOf(caller: ControlCaller, verbose: boolean, page: StreamPage): Promise<ListedStreams<unknown>> {
  /** Of a broker that knows no pages. */
  let whole: readonly unknown[] | null = null;
  const pages: Pick<ControlCaller, 'call'> = {
    call: async <T>(...[api, command, fields = {}]: Parameters<ControlCaller['call']>) => {
      const [count, offset] = [Number(fields.count), Number(fields.offset)];
      if (whole === null) {
        const data = await caller.call(api, command, fields);
        whole = wholeOf(data, count);
        if (whole === null) return pageOf(data, count, offset) as T;
      }
      return { streams: whole.slice(offset, offset + count), totalCount: whole.length } as T;
    },
  };
  const listed = await listPages(pages, STREAM_API, 'listStreams', 'streams', {
    ...page,
    fields: { verbose },
    maxItems: MAX_STREAMS,
    maxBytes: MAX_LIST_CHARACTERS,
    nameOf: readName,
  });
  const problem = problemOf(listed);
  return { items: listed.items, totalCount: listed.totalCount, ...(problem === null ? {} : { problem }) };
}

const MAX_PROBLEM = 1_000;

function problemOf({ pages }: ListedPages<unknown>): string | null {
  const told = pages.map(({ problem }) => problem).find((problem) => typeof problem === 'string' && problem !== '');
  return typeof told === 'string' ? told.slice(0, MAX_PROBLEM) : null;
}

const streamsOf = (data: unknown): unknown => (isFields(data) ? fieldOf(data, 'streams') : data);

/** The API's documentation shows one object for a list; and an array that is longer than was asked for is all there is. */
function wholeOf(data: unknown, count: number): readonly unknown[] | null {
  const streams = streamsOf(data);
  if (Array.isArray(streams)) return streams.length > count ? streams : null;
  return readName(data) === null ? [] : [data];
}

/** Where no number of all is told that can be one, a page that is not full is the last one. */
function pageOf(data: unknown, count: number, offset: number): Fields {
  const streams = streamsOf(data) as readonly unknown[];
  const total = isFields(data) ? fieldOf(data, 'totalCount') : undefined;
  const seen = offset + streams.length;
  const isTold = typeof total === 'number' && total >= 0 && !(total % 1 > 0);
  const problem = isFields(data) ? data.problem : undefined;
  return { streams, problem, totalCount: isTold ? total : seen + (streams.length === count ? 1 : 0) };
}
