import { isFields } from '../../../protocol/control/fields.ts';
import { SETTING_KEYS, topicSettingIssues } from '../control/topic-setting-issues.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';

/** Reads settings that any version stored. Missing and invalid values become defaults. `isWhole`: none was invalid. */
export function readStoredSettings(text: string): { readonly settings: TopicSettings; readonly isWhole: boolean } {
  const stored = parseObject(text);
  const given = SETTING_KEYS.filter((key) => stored?.[key] !== undefined);
  const valid = given.filter((key) => topicSettingIssues({ [key]: stored?.[key] }).length === 0);
  const settings = { ...DEFAULT_TOPIC_SETTINGS, ...Object.fromEntries(valid.map((key) => [key, stored?.[key]])) };
  return { settings, isWhole: stored !== null && valid.length === given.length };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}
