import { isFields } from '../../control/fields.ts';
import { filterProblem } from '../../mqtt/topics.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  MAX_FILTERS,
  MAX_PAYLOAD_LIMIT,
  MAX_TOPIC_LIMIT,
  MAX_TTL_SECONDS,
  type TopicSettings,
} from '../model/topic-settings.ts';

/**
 * Settings as they were stored, by whatever version: what cannot be used, or is not there, is as it is by default, so that a damaged row
 * stops neither the service nor the recording. `isWhole`: nothing had to be replaced that was there.
 */
export function readStoredSettings(text: string): { readonly settings: TopicSettings; readonly isWhole: boolean } {
  const stored = parsed(text);
  let isWhole = stored !== null;
  const take = <Key extends keyof TopicSettings>(
    key: Key,
    isUsable: (value: unknown) => boolean,
  ): TopicSettings[Key] => {
    const value = stored?.[key];
    if (value === undefined) return DEFAULT_TOPIC_SETTINGS[key];
    if (isUsable(value)) return value as TopicSettings[Key];
    isWhole = false;
    return DEFAULT_TOPIC_SETTINGS[key];
  };
  const settings: TopicSettings = {
    ttlSeconds: take('ttlSeconds', isWholeNumber(1, MAX_TTL_SECONDS)),
    filters: take('filters', areFilters),
    excludedFilters: take('excludedFilters', areFilters),
    publishLimit: take('publishLimit', isWholeNumber(0, MAX_TOPIC_LIMIT)),
    subscribeLimit: take('subscribeLimit', isWholeNumber(0, MAX_TOPIC_LIMIT)),
    payloadLimit: take('payloadLimit', isWholeNumber(0, MAX_PAYLOAD_LIMIT)),
    isAlwaysOn: take('isAlwaysOn', (value) => typeof value === 'boolean'),
  };
  return { settings, isWhole };
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

const isWholeNumber = (lowest: number, highest: number) => (value: unknown) =>
  Number.isInteger(value) && (value as number) >= lowest && (value as number) <= highest;

const areFilters = (value: unknown) =>
  Array.isArray(value) &&
  value.length <= MAX_FILTERS &&
  value.every((filter) => typeof filter === 'string' && filterProblem(filter) === null);
