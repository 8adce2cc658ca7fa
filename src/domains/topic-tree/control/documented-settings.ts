import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCall, ControlCaller } from '../../../protocol/control/plugin.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import { getTopicLimits, getTopicTtl, listTopicFilters, TOPIC_API, type TopicLimits } from './topic-control.ts';
import type { TopicSettingsChange } from './topic-setting-issues.ts';

/**
 * Returns the settings of a broker that supports only the documented commands. Such a broker has no filters that
 * exclude topics, and always records. Values that it does not report are the defaults.
 */
export async function getDocumentedSettings(caller: ControlCaller): Promise<TopicSettings> {
  const { ttlSeconds, filters, ...rest } = DEFAULT_TOPIC_SETTINGS;
  const [ttl, list, limits] = await Promise.all([
    orDefault(getTopicTtl(caller), ttlSeconds),
    orDefault(listTopicFilters(caller), filters),
    orDefault<TopicLimits>(getTopicLimits(caller), rest),
  ]);
  return { ...rest, ...limits, ttlSeconds: ttl, filters: list, ...FIXED };
}

/**
 * Changes settings of such a broker. The change must already be validated. The commands are sent together, but the
 * broker executes each separately: if one is refused, others may have been executed. Errors: NOT_SUPPORTED_BY_BROKER if
 * the broker has no command for the change (nothing is sent), and the first error of the broker.
 */
export async function updateDocumentedSettings(caller: ControlCaller, change: TopicSettingsChange): Promise<void> {
  if ((change.excludedFilters ?? []).length > 0) {
    throw unsupported('excludedFilters', 'The broker records by filters, but has none that leave topics out');
  }
  if (change.isAlwaysOn === false) {
    throw unsupported('isAlwaysOn', 'The broker records its topics by itself, whether or not somebody asks');
  }
  const commands: readonly ControlCall[] = [
    ...(change.ttlSeconds === undefined ? [] : [{ command: 'setTtl', fields: { ttl: change.ttlSeconds } }]),
    ...(change.filters === undefined ? [] : filterCommands(await listTopicFilters(caller), change.filters)),
    ...(await limitCommands(caller, change)),
  ];
  if (commands.length === 0) return;
  const results = await caller.callAll(TOPIC_API, commands);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

const FIXED = { excludedFilters: [], isAlwaysOn: true } as const;

/**
 * New filters are added before old ones are removed. If the list were empty in between, all topics would be recorded.
 */
function filterCommands(before: readonly string[], after: readonly string[]): ControlCall[] {
  if (after.length === 0) return before.length === 0 ? [] : [{ command: 'clearFilters' }];
  const added = after.filter((filter) => !before.includes(filter));
  const removed = before.filter((filter) => !after.includes(filter));
  return [
    ...added.map((filter) => ({ command: 'addFilter', fields: { filter } })),
    ...removed.map((filter) => ({ command: 'removeFilter', fields: { filter } })),
  ];
}

/** Sends all three limits, because the documentation does not say what happens to missing ones. */
async function limitCommands(caller: ControlCaller, change: TopicSettingsChange): Promise<ControlCall[]> {
  const names = ['publishLimit', 'subscribeLimit', 'payloadLimit'] as const;
  if (names.every((name) => change[name] === undefined)) return [];
  const limits = await getTopicLimits(caller);
  const fields = Object.fromEntries(names.map((name) => [name, change[name] ?? limits[name]]));
  return [{ command: 'setLimits', fields }];
}

const unsupported = (setting: keyof TopicSettings, reason: string): ServiceError =>
  new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { api: TOPIC_API, setting, reason } });

async function orDefault<T>(question: Promise<T>, fallback: T): Promise<T> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER') return fallback;
    throw error;
  }
}
