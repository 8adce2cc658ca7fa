/** How the topics of one broker are recorded. Names of commands and fields of `cedalo/topictree` in comments. */
export interface TopicSettings {
  /** Seconds that a topic stays listed after its last use (`ttl`). */
  readonly ttlSeconds: number;
  /** Only topics that match one of these are recorded (`addFilter`); none: all that do not begin with `$`. */
  readonly filters: readonly string[];
  /** Of those, these are left out. Not known to commercial brokers. */
  readonly excludedFilters: readonly string[];
  /** Published topics, and subscribed ones, at most; later ones are left out and counted until others have expired. */
  readonly publishLimit: number;
  readonly subscribeLimit: number;
  /** Bytes that are kept of a topic's last payload; 0: none. */
  readonly payloadLimit: number;
  /** Recorded also while nobody asks. Not known to commercial brokers. */
  readonly isAlwaysOn: boolean;
}

/** As the documentation of commercial brokers has them. */
export const DEFAULT_TOPIC_SETTINGS: TopicSettings = {
  ttlSeconds: 60,
  filters: [],
  excludedFilters: [],
  publishLimit: 50_000,
  subscribeLimit: 50_000,
  payloadLimit: 1_000,
  isAlwaysOn: false,
};

export const MAX_TTL_SECONDS = 365 * 24 * 60 * 60;
export const MAX_TOPIC_LIMIT = 5_000_000;
export const MAX_PAYLOAD_LIMIT = 65_536;
/** Of each kind. */
export const MAX_FILTERS = 100;

/** Where the settings of one broker's recording are kept: this service's database, or the journal of an embedded broker. */
export interface TopicSettingsStore {
  get(): TopicSettings;
  put(settings: TopicSettings): Promise<void>;
  /** Changed by somebody else: another process. */
  onChange(listener: () => void): () => void;
}
