import type { LinkState, LinkStatus, Stop } from './broker-session.ts';

/** The state of a link, and those who are notified of it. */
export class StatusOfLink {
  readonly #onFault: (error: unknown) => void;
  readonly #listeners = new Set<(status: LinkStatus) => void>();
  /** Callers of `next`. */
  #waiting: (() => void)[] = [];
  current: LinkStatus = { state: 'CONNECTING', since: new Date().toISOString() };

  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  on(listener: (status: LinkStatus) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves with the next outcome of an attempt, also if the state is the same. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  forgetListeners(): void {
    this.#listeners.clear();
  }

  /** Calls the listeners if the state is another one. */
  set(
    state: LinkState,
    { lastError, resumed, wasSilent }: Pick<LinkStatus, 'lastError' | 'resumed' | 'wasSilent'> = {},
  ): void {
    const { current } = this;
    const hasChanged = current.state !== state;
    const wasConnected = current.state === 'CONNECTED' || current.wasConnected === true;
    this.current = {
      state,
      since: hasChanged ? new Date().toISOString() : current.since,
      ...(state === 'UNREACHABLE' ? { wasConnected } : {}),
      ...(lastError === undefined ? {} : { lastError }),
      ...(resumed === undefined ? {} : { resumed }),
      ...(wasSilent === true && current.state === 'CONNECTED' ? { wasSilent } : {}),
    };
    for (const resolve of this.#waiting.splice(0)) resolve();
    if (!hasChanged) return;
    // A listener may add or remove listeners: only those are called that existed before and still exist.
    for (const listener of [...this.#listeners]) {
      if (!this.#listeners.has(listener)) continue;
      try {
        listener(this.current);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }
}
