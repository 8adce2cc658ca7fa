import { ServiceError, withPlaces } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import {
  type FindTopics,
  type LevelPage,
  type ListLevels,
  MAX_ANSWER_CHARACTERS,
  type RecordedTopic,
  type TopicPage,
  type TopicQuestions,
} from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import { readAnswer, settingOf, told } from './topic-answers.ts';
import { filtersOf, limitsOf, TOPIC_API, withIssue } from './topic-control.ts';
import { QUESTION_COMMANDS } from './topic-questions.ts';
import { SETTING_KEYS, settingFields, type TopicSettingsChange, WIRE_NAMES } from './topic-setting-issues.ts';

/**
 * Commands of `cedalo/topictree` that only the plugins of this service support: the gateway plugin for remote brokers,
 * and the embedded broker.
 *
 * Errors: those of the documented commands and of the recorder. Paths of issues are those of TopicSettings.
 */

export async function getRecording(caller: ControlCaller): Promise<TopicSettings> {
  const settings = recordingOf(await call(caller, 'getRecording', {}));
  if (settings !== null) return settings;
  throw new ServiceError('BROKER_REJECTED', 'The broker told no settings of its topic tree that can be read');
}

/** Changes all given settings, or none. */
export async function setRecording(caller: ControlCaller, change: TopicSettingsChange): Promise<void> {
  await call(caller, 'setRecording', settingFields(change));
}

/**
 * Requests a result. If a list in the response is shortened, further requests complete it, up to MAX_ANSWER_CHARACTERS.
 */
export async function askRecorder<Type extends keyof TopicQuestions>(
  caller: ControlCaller,
  type: Type,
  question: TopicQuestions[Type]['question'],
): Promise<TopicQuestions[Type]['answer']>;
export async function askRecorder(
  caller: ControlCaller,
  type: keyof TopicQuestions,
  question: TopicQuestions[keyof TopicQuestions]['question'],
): Promise<unknown> {
  if (type === 'find') return findWhole(caller, question as FindTopics);
  if (type === 'levels') return levelsWhole(caller, question as ListLevels);
  return readAnswer[type](await call(caller, QUESTION_COMMANDS[type], { ...question }));
}

/** Reads settings. Returns `null` if the response is not from a plugin of this service. */
export function recordingOf(data: unknown): TopicSettings | null {
  const always = told(data, WIRE_NAMES.isAlwaysOn);
  if (typeof always !== 'boolean') return null;
  return {
    ttlSeconds: settingOf(told(data, WIRE_NAMES.ttlSeconds)) ?? DEFAULT_TOPIC_SETTINGS.ttlSeconds,
    filters: filtersOf(told(data, WIRE_NAMES.filters)),
    excludedFilters: filtersOf(told(data, WIRE_NAMES.excludedFilters)),
    ...limitsOf(data),
    isAlwaysOn: always,
  };
}

async function findWhole(caller: ControlCaller, question: FindTopics): Promise<TopicPage> {
  const ask = async (fields: FindTopics) => readAnswer.find(await call(caller, QUESTION_COMMANDS.find, { ...fields }));
  const { totalCount, ...start } = await ask(question);
  const topics = [...start.topics];
  let { hasMore } = start;
  let characters = sizeOf(topics);
  while (hasMore && topics.length < question.first && characters < MAX_ANSWER_CHARACTERS) {
    const after = topics.at(-1)?.topic;
    if (after === undefined) break;
    const { offset: _told, withCount: _counted, ...rest } = question;
    const page = await ask({ ...rest, after, first: question.first - topics.length });
    if (page.topics.length === 0) break;
    topics.push(...page.topics);
    characters += sizeOf(page.topics);
    hasMore = page.hasMore;
  }
  return { topics, hasMore, totalCount };
}

async function levelsWhole(caller: ControlCaller, question: ListLevels): Promise<LevelPage> {
  const ask = async (fields: ListLevels) =>
    readAnswer.levels(await call(caller, QUESTION_COMMANDS.levels, { ...fields }));
  const { totalCount, ...start } = await ask(question);
  const levels = [...start.levels];
  let { hasMore } = start;
  let characters = levels.length;
  while (hasMore && levels.length < question.first && characters < MAX_ANSWER_CHARACTERS) {
    const after = levels.at(-1)?.name;
    if (after === undefined) break;
    const page = await ask({ ...question, after, first: question.first - levels.length });
    if (page.levels.length === 0) break;
    levels.push(...page.levels);
    for (const { topic, recorded } of page.levels)
      characters += topic.length + (recorded === null ? 0 : sizeOf([recorded]));
    hasMore = page.hasMore;
  }
  return { levels, hasMore, totalCount };
}

function sizeOf(topics: readonly RecordedTopic[]): number {
  return topics.reduce((sum, { topic, payload }) => sum + topic.length + (payload?.data.length ?? 0), 0);
}

async function call(caller: ControlCaller, command: string, fields: Readonly<Record<string, unknown>>) {
  try {
    return await caller.call(TOPIC_API, command, fields);
  } catch (error) {
    throw error instanceof ServiceError ? withPlaces(withIssue(error), modelPlace) : error;
  }
}

/** Maps a path with command field names to a path of TopicSettings. */
function modelPlace(path: string): string {
  const [, name = '', ...rest] = path.split('/');
  const key = SETTING_KEYS.find((one) => WIRE_NAMES[one] === name) ?? name;
  return ['', key, ...rest].join('/');
}
