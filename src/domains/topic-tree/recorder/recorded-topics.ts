import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { TopicSettings } from '../model/topic-settings.ts';

type Filters = Pick<TopicSettings, 'filters' | 'excludedFilters'>;

const EVERYTHING = ['#'];
const CONTROL = '$CONTROL';
/** `$share/<group>/<filter>` (MQTT 5, 4.8.2). */
const SHARED = /^\$share\/[^/]*\//;

/** The filters to record by; none are given: all topics but those that begin with `$`. */
export const recordedFilters = ({ filters }: Filters): readonly string[] =>
  filters.length === 0 ? EVERYTHING : filters;

/** Commands to the broker and its answers are no messages between clients, and may hold passwords. */
export const isOfControl = (topic: string): boolean =>
  topic.startsWith(CONTROL) && (topic.length === CONTROL.length || topic.charAt(CONTROL.length) === '/');

/** Which topics are recorded, by the filters of the settings: what begins with `$` only where one names it [MQTT-4.7.2-1]. */
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

  /** Of a subscription: its levels are looked at as those of a topic, `+` and `#` among them; the group of a shared one is not. */
  readonly hasSubscription = (filter: string): boolean => this.has(filter.replace(SHARED, ''));
}

/** Whether all that was recorded by one is by the other: nothing has to be looked for to be removed. */
export const areSameFilters = (a: Filters, b: Filters): boolean =>
  isSameList(a.filters, b.filters) && isSameList(a.excludedFilters, b.excludedFilters);

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((filter, index) => filter === b[index]);
