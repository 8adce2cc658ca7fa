import { REQUEST_COMMANDS } from '../../../data-plane/topic-tree/control/request-parser.ts';
import { fieldIn, parseResponse, settingOf } from '../../../data-plane/topic-tree/control/response-parser.ts';
import { filtersOf, limitsOf, TOPIC_API } from '../../../data-plane/topic-tree/control/topic-control.ts';
import {
  SETTING_KEYS,
  settingFields,
  type TopicSettingsChange,
  WIRE_NAMES,
} from '../../../data-plane/topic-tree/control/topic-setting-issues.ts';
import {
  type FindTopics,
  MAX_RESPONSE_CHARACTERS,
  type RecordedTopic,
  type TopicLevel,
  type TopicRequests,
  type TopicResponses,
} from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../../../data-plane/topic-tree/model/topic-settings.ts';
import { charactersOf } from '../../../data-plane/topic-tree/tree/bounded-list.ts';
import { topicCursor } from '../../../data-plane/topic-tree/tree/topic-order.ts';
import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import { withIssue } from '../../../protocol/control/issue-refusals.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';

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
): Promise<TopicResponses[Type]> {
  const send = async (fields: object) => parseResponse[type](await call(caller, REQUEST_COMMANDS[type], { ...fields }));
  const response = await send(request);
  if (type !== 'find' && type !== 'levels') return response;
  const { offset: _offset, withCount: _withCount, ...rest } = request as FindTopics;
  const { order } = rest;
  const items: (RecordedTopic | TopicLevel)[] = [];
  let characters = 0;
  for (let page = response as ListPage; ; ) {
    const added = page.topics ?? page.levels ?? [];
    items.push(...added);
    for (const item of added) characters += sizeOf(item);
    const last = added.at(-1);
    const isDone = !page.hasMore || items.length >= rest.first || characters >= MAX_RESPONSE_CHARACTERS;
    if (isDone || last === undefined) {
      return { ...response, [type === 'find' ? 'topics' : 'levels']: items, hasMore: page.hasMore };
    }
    const after = 'name' in last ? last.name : topicCursor(last, order);
    page = (await send({ ...rest, after, first: rest.first - items.length })) as ListPage;
  }
}

interface ListPage {
  readonly topics?: readonly RecordedTopic[];
  readonly levels?: readonly TopicLevel[];
  readonly hasMore: boolean;
}

const sizeOf = (item: RecordedTopic | TopicLevel): number => {
  if ('payload' in item) return charactersOf(item);
  return item.topic.length + (item.recorded === null ? 0 : charactersOf(item.recorded));
};

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
