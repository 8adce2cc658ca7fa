import { isFields } from '../../../protocol/control/fields.ts';
import { SETTING_KEYS, topicSettingIssues } from '../control/topic-setting-issues.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';

/**
 * Settings as they were stored, by whatever version: what cannot be used, or is not there, is as it is by default, so that a damaged row
 * stops neither the service nor the recording. `isWhole`: nothing had to be replaced that was there.
 */
export function readStoredSettings(text: string): { readonly settings: TopicSettings; readonly isWhole: boolean } {
  const stored = parsed(text);
  const given = SETTING_KEYS.filter((key) => stored?.[key] !== undefined);
  const usable = given.filter((key) => topicSettingIssues({ [key]: stored?.[key] }).length === 0);
  const settings = { ...DEFAULT_TOPIC_SETTINGS, ...Object.fromEntries(usable.map((key) => [key, stored?.[key]])) };
  return { settings, isWhole: stored !== null && usable.length === given.length };
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}
