import type { Stop } from '../../protocol/mqtt/broker-session.ts';

/** Settings that take effect while the broker runs. */
export interface LiveSettings {
  readonly storesTopicPayloads: boolean;
  /** Whether a session belongs to the account that created it. */
  readonly bindsSessions: boolean;
}

export const DEFAULT_SETTINGS: LiveSettings = { storesTopicPayloads: true, bindsSessions: false };

/** Where an embedded broker has its settings from. */
export interface EmbeddedSettings {
  current(): LiveSettings;
  onChange(listener: () => void): Stop;
}
