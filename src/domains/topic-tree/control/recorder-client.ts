import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import {
  type FindTopics,
  type ListLevels,
  MAX_RESPONSE_CHARACTERS,
  type RecordedTopic,
  type TopicRequests,
  type TopicResponses,
} from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import { REQUEST_COMMANDS } from './request-parser.ts';
import { fieldIn, parseResponse, settingOf } from './response-parser.ts';
import { filtersOf, limitsOf, TOPIC_API, withIssue } from './topic-control.ts';
import { SETTING_KEYS, settingFields, type TopicSettingsChange, WIRE_NAMES } from './topic-setting-issues.ts';

/**
 * Commands of `cedalo/topictree` that only the plugins of this service support. Paths of issues are those of
 * TopicSettings.
 */

export async function getRecording(caller: ControlCaller): Promise<TopicSettings> {
  const settings = recordingOf(await call(caller, 'getRecording', {}));
  if (settings !== null) return settings;
  throw new ServiceError('BROKER_REJECTED', 'The broker returned no valid settings of its topic tree');
}

export async function setRecording(caller: ControlCaller, change: TopicSettingsChange): Promise<void> {
  await call(caller, 'setRecording', settingFields(change));
}

/** Sends a request. If a list in the response is shortened, further requests complete it. */
export async function queryRecorder<Type extends keyof TopicRequests>(
  caller: ControlCaller,
  type: Type,
  request: TopicRequests[Type],
): Promise<TopicResponses[Type]>;
export async function queryRecorder(
  caller: ControlCaller,
  type: keyof TopicRequests,
  request: TopicRequests[keyof TopicRequests],
): Promise<unknown> {
  const send = async <Type extends keyof TopicRequests>(sent: Type, fields: TopicRequests[Type]) =>
    parseResponse[sent](await call(caller, REQUEST_COMMANDS[sent], { ...fields }));
  if (type === 'find') {
    const { offset: _skipped, withCount: _counted, ...rest } = request as FindTopics;
    const start = await send('find', request as FindTopics);
    const readNext = async (after: RecordedTopic, first: number) => {
      const { topics, hasMore } = await send('find', { ...rest, after: after.topic, first });
      return { items: topics, hasMore };
    };
    const { items, hasMore } = await completed({ ...start, items: start.topics }, rest.first, readNext, sizeOf);
    return { topics: items, hasMore, totalCount: start.totalCount };
  }
  if (type === 'levels') {
    const start = await send('levels', request as ListLevels);
    const { items, hasMore } = await completed(
      { ...start, items: start.levels },
      (request as ListLevels).first,
      async ({ name }, first) => {
        const { levels, hasMore: hasNext } = await send('levels', { ...(request as ListLevels), after: name, first });
        return { items: levels, hasMore: hasNext };
      },
      ({ topic, recorded }) => topic.length + (recorded === null ? 0 : sizeOf(recorded)),
    );
    return { levels: items, hasMore, totalCount: start.totalCount };
  }
  return send(type, request as never);
}

/** Reads settings. Returns `null` if the response is not from a plugin of this service. */
export function recordingOf(data: unknown): TopicSettings | null {
  const always = fieldIn(data, WIRE_NAMES.isAlwaysOn);
  if (typeof always !== 'boolean') return null;
  return {
    ttlSeconds: settingOf(fieldIn(data, WIRE_NAMES.ttlSeconds)) ?? DEFAULT_TOPIC_SETTINGS.ttlSeconds,
    filters: filtersOf(fieldIn(data, WIRE_NAMES.filters)),
    excludedFilters: filtersOf(fieldIn(data, WIRE_NAMES.excludedFilters)),
    ...limitsOf(data),
    isAlwaysOn: always,
  };
}

interface PartialList<Item> {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}

async function completed<Item>(
  start: PartialList<Item>,
  first: number,
  readNext: (after: Item, first: number) => Promise<PartialList<Item>>,
  charactersOf: (item: Item) => number,
): Promise<PartialList<Item>> {
  const items: Item[] = [];
  let page = start;
  let characters = 0;
  for (;;) {
    items.push(...page.items);
    for (const item of page.items) characters += charactersOf(item);
    const last = page.items.at(-1);
    const isDone = !page.hasMore || items.length >= first || characters >= MAX_RESPONSE_CHARACTERS;
    if (isDone || last === undefined) return { items, hasMore: page.hasMore };
    page = await readNext(last, first - items.length);
  }
}

const sizeOf = ({ topic, payload }: RecordedTopic): number => topic.length + (payload?.data.length ?? 0);

async function call(caller: ControlCaller, command: string, fields: Readonly<Record<string, unknown>>) {
  try {
    return await caller.call(TOPIC_API, command, fields);
  } catch (error) {
    throw error instanceof ServiceError ? withPlaces(withIssue(error), modelPath) : error;
  }
}

/** Maps a path with command field names to a path of TopicSettings. */
function modelPath(path: string): string {
  const [, name = '', ...rest] = path.split('/');
  const key = SETTING_KEYS.find((one) => WIRE_NAMES[one] === name) ?? name;
  return ['', key, ...rest].join('/');
}
