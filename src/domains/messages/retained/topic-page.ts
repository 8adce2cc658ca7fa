/** The first topics in order behind a cursor, of any number of topics. Stores at most twice as many as the page has. */
export class TopicPage {
  readonly #size: number;
  readonly #after: string | null;
  /** In lower case. */
  readonly #search: string;
  #topics: string[] = [];
  /** Topics behind it are not on the page. */
  #end: string | null = null;
  count = 0;

  constructor({ first, after, search }: { readonly first: number; readonly after: string | null; search: string }) {
    // One more shows whether there is a next page.
    this.#size = first + 1;
    this.#after = after;
    this.#search = search.toLowerCase();
  }

  add(topic: string): void {
    if (this.#search !== '' && !topic.toLowerCase().includes(this.#search)) return;
    this.count += 1;
    if (this.#after !== null && topic <= this.#after) return;
    if (this.#end !== null && topic > this.#end) return;
    this.#topics.push(topic);
    if (this.#topics.length >= this.#size * 2) this.#cut();
  }

  page(): { readonly topics: readonly string[]; readonly hasMore: boolean } {
    this.#cut();
    return { topics: this.#topics.slice(0, this.#size - 1), hasMore: this.#topics.length === this.#size };
  }

  #cut(): void {
    this.#topics = this.#topics.sort(byCodeUnits).slice(0, this.#size);
    if (this.#topics.length === this.#size) this.#end = this.#topics.at(-1) ?? null;
  }
}

const byCodeUnits = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
