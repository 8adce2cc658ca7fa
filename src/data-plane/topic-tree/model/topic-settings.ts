/** Settings of the recording. The names in parentheses are commands and fields of `cedalo/topictree`. */
export interface TopicSettings {
  /** Number of seconds that a topic stays listed after its last use (`ttl`). */
  readonly ttlSeconds: number;
  /** Only matching topics are recorded (`addFilter`). Empty: all topics that do not begin with `$`. */
  readonly filters: readonly string[];
  /** Topics that match one of these filters are not recorded. Commercial brokers do not support this. */
  readonly excludedFilters: readonly string[];
  /** Maximum numbers of topics. Beyond them, new topics are counted but not listed until others have expired. */
  readonly publishLimit: number;
  readonly subscribeLimit: number;
  /** Number of bytes that are stored of a topic's last payload. 0: none. */
  readonly payloadLimit: number;
  /** Whether topics are recorded even while nothing requests them. Commercial brokers do not support this. */
  readonly isAlwaysOn: boolean;
}

/** The defaults that the documentation of commercial brokers states. */
export const DEFAULT_TOPIC_SETTINGS: TopicSettings = {
  ttlSeconds: 60,
  filters: [],
  excludedFilters: [],
  publishLimit: 50_000,
  subscribeLimit: 50_000,
  payloadLimit: 1_000,
  isAlwaysOn: false,
};

const MIN_IDLE_MS = 10 * 60 * 1_000;
const MAX_IDLE_MS = 60 * 60 * 1_000;

/** Time in milliseconds after the last request at which a recording stops, unless it is always on. */
export const idleMs = ({ ttlSeconds }: Pick<TopicSettings, 'ttlSeconds'>): number =>
  Math.min(MAX_IDLE_MS, Math.max(MIN_IDLE_MS, 2 * ttlSeconds * 1_000));

export const MAX_TTL_SECONDS = 365 * 24 * 60 * 60;
export const MAX_TOPIC_LIMIT = 5_000_000;
export const MAX_PAYLOAD_LIMIT = 65_536;
/** Maximum number of `filters`, and of `excludedFilters`. */
export const MAX_FILTERS = 100;

/** The settings of one broker: in the database of this service, or in the journal of an embedded broker. */
export interface TopicSettingsStore {
  get(): TopicSettings;
  put(settings: TopicSettings): Promise<void>;
  /** Adds a listener for changes by other processes. Returns the function that removes it. */
  onChange(listener: () => void): () => void;
}
