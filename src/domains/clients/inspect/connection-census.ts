/**
 * How many connections a broker has beside those that are known: its log tells who comes and goes, and now and then it tells how
 * many there are.
 *
 * A count that is told now stands in order with the lines of the log, so what it is more than the known ones is exact as of now.
 * Strangers can only go afterwards, since each connection that comes is told, if only that somebody came: the number falls until the next count. Mosquitto
 * tells a count only when it has changed; it looks at it when it tells its uptime, so an uptime that no count follows before
 * the next message repeats the last one. Connections that have not said who they are yet, and bridges that the broker has
 * opened itself, count as strangers.
 *
 * A retained count is that of the last look before we subscribed, some seconds ago (`sys_interval`, by default 10). Zero means that
 * nobody was there then, which counts for something where we come for the first time: to a broker that was started anew
 * everybody comes back when we do. Any other count may include us or not, and proves nothing.
 *
 * Fewer than are known: lines were lost, so that a stranger may hide behind one that has gone. Then nothing is known.
 */
export class ConnectionCensus {
  #unknown: number | null = null;
  #lastTold: number | null = null;
  /** Known connections at an uptime that no count has followed yet. */
  #knownAtUptime: number | null = null;
  #counted = false;
  /** Not everybody could be told who has come since. */
  #isUnread = false;
  #isFirst = true;
  readonly #waiting = new Set<() => void>();

  /** Since the last count; null: none was told, or it cannot be right. */
  get unknown(): number | null {
    return this.#unknown;
  }

  /** No count was told yet, and the one of before leaves no room for a stranger. */
  get wasEmpty(): boolean {
    return this.#isFirst && !this.#isUnread && !this.#counted && this.#lastTold === 0;
  }

  /** A count was told at all. */
  get isCounted(): boolean {
    return this.#counted;
  }

  uptimeTold(known: number): void {
    this.messageTold();
    this.#knownAtUptime = known;
  }

  countTold(count: number, known: number, isRetained: boolean): void {
    this.#lastTold = count;
    if (!isRetained) this.#compare(count - known);
  }

  /** Anything else that the broker told. */
  messageTold(): void {
    if (this.#knownAtUptime !== null && this.#lastTold !== null) this.#compare(this.#lastTold - this.#knownAtUptime);
    this.#knownAtUptime = null;
  }

  /** Somebody has come who cannot be told from others (1), or somebody unknown has gone (-1). */
  strangersChanged(difference: -1 | 0 | 1): void {
    if (difference > 0) this.#isUnread = true;
    if (this.#unknown !== null) this.#unknown = Math.max(0, this.#unknown + difference);
  }

  /** Resolves with the next count. */
  whenCounted(patienceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, patienceMs);
      this.#waiting.add(done);
    });
  }

  /** The connection was lost, and others have come and gone unseen. */
  beginAnew(): void {
    this.#isFirst = false;
    this.#isUnread = false;
    this.#unknown = null;
    this.#lastTold = null;
    this.#knownAtUptime = null;
    this.#counted = false;
  }

  close(): void {
    for (const done of this.#waiting) done();
  }

  #compare(difference: number): void {
    this.#knownAtUptime = null;
    this.#counted = true;
    this.#unknown = difference < 0 ? null : difference;
    for (const done of this.#waiting) done();
  }
}
