import type { BridgeConnectionStatus } from '../model/bridge-status.ts';

const COUNTS_MS = 500;

/** Tells the status of a bridge: changes of a state or an error at once, counts alone at most every COUNTS_MS. */
export class StatusPace {
  readonly #read: () => readonly BridgeConnectionStatus[];
  readonly #tell: (status: readonly BridgeConnectionStatus[]) => void;
  #told = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(
    read: () => readonly BridgeConnectionStatus[],
    tell: (status: readonly BridgeConnectionStatus[]) => void,
  ) {
    this.#read = read;
    this.#tell = tell;
  }

  changed(): void {
    const status = this.#read();
    if (statesOf(status) === this.#told) this.#timer ??= setTimeout(() => this.#now(this.#read()), COUNTS_MS);
    else this.#now(status);
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #now(status: readonly BridgeConnectionStatus[]): void {
    this.close();
    this.#told = statesOf(status);
    this.#tell(status);
  }
}

const statesOf = (status: readonly BridgeConnectionStatus[]): string =>
  JSON.stringify(
    status.map(({ connectionName, state, isConnected, error }) => [connectionName, state, isConnected, error]),
  );
