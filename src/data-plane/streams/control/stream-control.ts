import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import type { ControlEvent } from '../../../protocol/control/envelope.ts';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { withIssue } from '../../../protocol/control/issue-refusals.ts';
import { type ListedPages, listPages } from '../../../protocol/control/list-pages.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { TimeBounds } from '../../log/log-message.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';
import { countOf, readReport } from './report-wire.ts';
import { commandFields, modelPlace, readName, readStream, type StreamEntry } from './stream-wire.ts';

/**
 * Client of the `stream-processing` control API, which lists, defines, clears and replays streams.
 *
 * Errors besides those of `ControlCaller`: NOT_FOUND (no such stream), ALREADY_EXISTS, INVALID (with `info.issues` if
 * the broker's error text names a field; paths are those of the model), BROKER_REJECTED with the broker's text.
 * Responses may come from any broker: unreadable values are left out or replaced by defaults.
 */
export const STREAM_API = 'stream-processing';

/** Event of this service's plugins when the state or replay of a stream changed. Fields: `streamname` and `report`. */
export const STREAM_CHANGED = 'streamChanged';

export const MAX_STREAMS = 10_000;
const MAX_LIST_CHARACTERS = 100_000_000;

interface StreamPage {
  readonly offset?: number;
  readonly count?: number;
}

interface ListedStreams<T> {
  readonly items: readonly T[];
  readonly totalCount: number;
  readonly problem?: string;
}

export async function listStreams(caller: ControlCaller, page: StreamPage = {}): Promise<ListedStreams<StreamEntry>> {
  const { items, ...rest } = await listStreamPlaces(caller, page);
  return { ...rest, items: items.filter((entry) => entry !== null) };
}

/** Lists streams by position, with `null` for unreadable entries. Errors: TOO_LARGE. */
export async function listStreamPlaces(
  caller: ControlCaller,
  page: StreamPage = {},
): Promise<ListedStreams<StreamEntry | null>> {
  const { items, ...rest } = await pagesOf(caller, page);
  return { ...rest, items: items.map(readStream) };
}

export async function getStream(caller: ControlCaller, name: string): Promise<StreamEntry> {
  const data = await call(caller, 'getStream', { streamname: name });
  // The documented response is the stream itself; the Cedalo Management Center reads it from `stream`.
  const entry = readStream(isFields(data) ? (fieldOf(data, 'stream') ?? data) : data);
  if (entry === null) throw new ServiceError('BROKER_REJECTED', 'The broker returned no readable stream');
  return entry;
}

/** Creates a stream. All flags are sent, because brokers' defaults are not documented. */
export async function createStream(caller: ControlCaller, { name, ...definition }: StreamDefinition): Promise<void> {
  const given = Object.entries(definition).filter(([, value]) => value !== null);
  await call(caller, 'createStream', { streamname: name, ...commandFields(Object.fromEntries(given)) });
}

export async function modifyStream(
  caller: ControlCaller,
  name: string,
  changes: Partial<Omit<StreamDefinition, 'name'>>,
): Promise<void> {
  await call(caller, 'modifyStream', { streamname: name, ...commandFields(changes) });
}

/** Sends a command without further fields. Plugins of this service accept `stopStreamReplay` if no replay runs. */
export async function commandStream(
  caller: ControlCaller,
  command: 'deleteStream' | 'enableStream' | 'disableStream' | 'stopStreamReplay',
  name: string,
): Promise<void> {
  await call(caller, command, { streamname: name });
}

export async function clearStreamMessages(caller: ControlCaller, name: string, bounds: TimeBounds): Promise<void> {
  await call(caller, 'clearStreamMessages', { streamname: name, ...boundFields(bounds) });
}

/** Returns the number of stored messages. Other brokers may report an estimate; plugins of this service count. */
export async function getStreamMessageCount(caller: ControlCaller, name: string): Promise<number> {
  const data = await call(caller, 'getStreamMessageCount', { streamname: name });
  return isFields(data) ? countOf(fieldOf(data, 'count')) : 0;
}

/** Starts a replay. Errors: IN_USE if another replay of the stream runs, only from plugins of this service. */
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

/** Listens for STREAM_CHANGED of one stream. Brokers with their own implementation of the API do not send it. */
export function onStreamChanged(caller: ControlCaller, name: string, listener: (report: StreamReport) => void): Stop {
  return caller.onEvent(STREAM_API, ({ event, streamname, report: sent }: ControlEvent) => {
    const report = event === STREAM_CHANGED && streamname === name ? readReport(sent) : null;
    if (report !== null) listener(report);
  });
}

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

async function pagesOf(caller: ControlCaller, page: StreamPage): Promise<ListedStreams<unknown>> {
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
    fields: { verbose: true },
    maxItems: MAX_STREAMS,
    maxBytes: MAX_LIST_CHARACTERS,
    nameOf: readName,
  });
  const problem = problemOf(listed);
  return { items: listed.items, totalCount: listed.totalCount, ...(problem === null ? {} : { problem }) };
}

const MAX_PROBLEM = 1_000;

function problemOf({ pages }: ListedPages<unknown>): string | null {
  const found = pages.map(({ problem }) => problem).find((problem) => typeof problem === 'string' && problem !== '');
  return typeof found === 'string' ? found.slice(0, MAX_PROBLEM) : null;
}

const streamsOf = (data: unknown): unknown => (isFields(data) ? fieldOf(data, 'streams') : data);

/**
 * Returns the complete list, or `null` if the response is one page. An array longer than requested is complete, because
 * the broker has no paging. A single stream instead of an array, as in the API's documentation, is complete too.
 */
function wholeOf(data: unknown, count: number): readonly unknown[] | null {
  const streams = streamsOf(data);
  if (Array.isArray(streams)) return streams.length > count ? streams : null;
  return readName(data) === null ? [] : [data];
}

/** Returns a page. Without a plausible total number, a page that is not full is the last one. */
function pageOf(data: unknown, count: number, offset: number): Fields {
  const streams = streamsOf(data) as readonly unknown[];
  const total = isFields(data) ? fieldOf(data, 'totalCount') : undefined;
  const seen = offset + streams.length;
  const isPlausible = typeof total === 'number' && total >= 0 && !(total % 1 > 0);
  const problem = isFields(data) ? data.problem : undefined;
  return { streams, problem, totalCount: isPlausible ? total : seen + (streams.length === count ? 1 : 0) };
}
