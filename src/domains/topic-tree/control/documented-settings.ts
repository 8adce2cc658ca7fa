import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCall, ControlCaller } from '../../../protocol/control/plugin.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import { getTopicLimits, getTopicTtl, listTopicFilters, TOPIC_API, type TopicLimits } from './topic-control.ts';
import type { TopicSettingsChange } from './topic-setting-issues.ts';

/**
 * The settings of a broker that knows the documented commands alone. It leaves no topics out, and records whether or not somebody asks.
 * What it does not know is as by default.
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
 * The change is checked already. Its commands travel together, but each is settled by itself: where one is refused the others may have
 * been done. Errors: NOT_SUPPORTED_BY_BROKER for what the broker has no command for, with nothing sent; the broker's first one.
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

/** Those that come before those that go: a list that is empty for a moment would have everything recorded. */
function filterCommands(before: readonly string[], after: readonly string[]): ControlCall[] {
  if (after.length === 0) return before.length === 0 ? [] : [{ command: 'clearFilters' }];
  const added = after.filter((filter) => !before.includes(filter));
  const removed = before.filter((filter) => !after.includes(filter));
  return [
    ...added.map((filter) => ({ command: 'addFilter', fields: { filter } })),
    ...removed.map((filter) => ({ command: 'removeFilter', fields: { filter } })),
  ];
}

/** All three: what becomes of those that are not given is not documented. */
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
