import type { InputIssue } from '../../../platform/errors.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import {
  MAX_FILTERS,
  MAX_PAYLOAD_LIMIT,
  MAX_TOPIC_LIMIT,
  MAX_TTL_SECONDS,
  type TopicSettings,
} from '../model/topic-settings.ts';

export type TopicSettingsChange = { readonly [Key in keyof TopicSettings]?: TopicSettings[Key] | undefined };

/** A change whose values are not validated. `undefined` leaves a setting unchanged. */
export type UncheckedChange = { readonly [Key in keyof TopicSettings]?: unknown };

/** Names of the settings as fields of `cedalo/topictree`. */
export const WIRE_NAMES: Readonly<Record<keyof TopicSettings, string>> = {
  ttlSeconds: 'ttl',
  filters: 'filters',
  excludedFilters: 'excludedFilters',
  publishLimit: 'publishLimit',
  subscribeLimit: 'subscribeLimit',
  payloadLimit: 'payloadLimit',
  isAlwaysOn: 'always',
};

export const SETTING_KEYS = Object.keys(WIRE_NAMES) as (keyof TopicSettings)[];

export const settingFields = (settings: TopicSettingsChange): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    SETTING_KEYS.filter((key) => settings[key] !== undefined).map((key) => [WIRE_NAMES[key], settings[key]]),
  );

/** Maximum number of characters of a filter. All filters of a broker are stored and sent together. */
const MAX_FILTER_LENGTH = 1_000;

/** Returns all issues of a change. Paths are JSON pointers with `names`, by default those of TopicSettings. */
export function topicSettingIssues(
  change: UncheckedChange,
  names: Readonly<Partial<Record<keyof TopicSettings, string>>> = {},
): InputIssue[] {
  return SETTING_KEYS.flatMap((key) => {
    const value = change[key];
    if (value === undefined) return [];
    return CHECKS[key](value).map(({ path, reason }) => ({ path: `/${names[key] ?? key}${path}`, reason }));
  });
}

/** Returns `null` if the filter can be recorded or excluded. */
export function recordFilterProblem(filter: unknown): string | null {
  if (typeof filter !== 'string') return 'must be a topic filter';
  if (filter.length > MAX_FILTER_LENGTH) return `must not exceed ${MAX_FILTER_LENGTH} characters`;
  if (/\p{Surrogate}/u.test(filter)) return 'must not contain half of a surrogate pair';
  // A recorder that subscribes to it would take messages from the other members of the group.
  if (/^\$(share|queue)\//.test(filter)) return 'must not be a shared subscription';
  if (/^\$CONTROL(\/|$)/.test(filter)) return 'must not name topics of $CONTROL, which are not recorded';
  return filterProblem(filter);
}

type Check = (value: unknown) => readonly InputIssue[];

const whole =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? []
      : [{ path: '', reason: `must be a whole number from ${least} to ${most}` }];

const filters: Check = (value) => {
  if (!Array.isArray(value)) return [{ path: '', reason: 'must be a list of topic filters' }];
  if (value.length > MAX_FILTERS) return [{ path: '', reason: `must not have more than ${MAX_FILTERS} entries` }];
  return value.flatMap((filter: unknown, index) => {
    const reason = value.indexOf(filter) < index ? 'is there already' : recordFilterProblem(filter);
    return reason === null ? [] : [{ path: `/${index}`, reason }];
  });
};

const CHECKS: Readonly<Record<keyof TopicSettings, Check>> = {
  ttlSeconds: whole(1, MAX_TTL_SECONDS),
  filters,
  excludedFilters: filters,
  publishLimit: whole(0, MAX_TOPIC_LIMIT),
  subscribeLimit: whole(0, MAX_TOPIC_LIMIT),
  payloadLimit: whole(0, MAX_PAYLOAD_LIMIT),
  isAlwaysOn: (value) => (typeof value === 'boolean' ? [] : [{ path: '', reason: 'must be true or false' }]),
};
