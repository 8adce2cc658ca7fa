import { byCodeUnits } from '../../../platform/sorting/by-code-units.ts';
import { FirstItems } from '../../../platform/sorting/first-items.ts';
import { includesText } from '../../../platform/text/text-search.ts';

/** The first topics in order behind a cursor, of any number of topics. Stores at most twice as many as the page has. */
export class TopicPage {
  readonly #first: number;
  readonly #after: string | null;
  /** In lower case. */
  readonly #search: string;
  readonly #topics: FirstItems<string>;
  count = 0;

  constructor({ first, after, search }: { readonly first: number; readonly after: string | null; search: string }) {
    this.#first = first;
    this.#after = after;
    this.#search = search.toLowerCase();
    // One more shows whether there is a next page.
    this.#topics = new FirstItems(first + 1, byCodeUnits);
  }

  add(topic: string): void {
    if (this.#search !== '' && !includesText(topic.toLowerCase(), this.#search)) return;
    this.count += 1;
    if (this.#after === null || topic > this.#after) this.#topics.add(topic);
  }

  page(): { readonly topics: readonly string[]; readonly hasMore: boolean } {
    const topics = this.#topics.sorted();
    return { topics: topics.slice(0, this.#first), hasMore: topics.length > this.#first };
  }
}
