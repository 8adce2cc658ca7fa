import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { TopicSettings } from '../model/topic-settings.ts';

type Filters = Pick<TopicSettings, 'filters' | 'excludedFilters'>;

const EVERYTHING = ['#'];
const CONTROL = '$CONTROL';
/** `$share/<group>/<filter>` (MQTT 5, section 4.8.2). */
const SHARED = /^\$share\/[^/]*\//;

export const recordedFilters = ({ filters }: Filters): readonly string[] =>
  filters.length === 0 ? EVERYTHING : filters;

/** Commands to the broker and its responses are not messages between clients, and may contain passwords. */
export const isOfControl = (topic: string): boolean =>
  topic.startsWith(CONTROL) && (topic.length === CONTROL.length || topic.charAt(CONTROL.length) === '/');

/** Decides which topics are recorded. Topics with `$` require a filter that names the first level [MQTT-4.7.2-1]. */
export class RecordedTopics {
  readonly #filters: readonly string[];
  readonly #excluded: readonly string[];

  constructor(settings: Filters) {
    this.#filters = recordedFilters(settings);
    this.#excluded = settings.excludedFilters;
  }

  readonly has = (topic: string): boolean =>
    !isOfControl(topic) &&
    this.#filters.some((filter) => filterMatches(filter, topic)) &&
    !this.#excluded.some((filter) => filterMatches(filter, topic));

  /** The same for the filter of a subscription, whose levels are compared like those of a topic. */
  readonly hasSubscription = (filter: string): boolean => this.has(filter.replace(SHARED, ''));
}
