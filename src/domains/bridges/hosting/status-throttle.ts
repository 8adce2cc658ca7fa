import type { BridgeConnectionStatus } from '../model/bridge-status.ts';

const COUNTS_MS = 500;

/** Emits the status of a bridge: changes of a state or an error immediately, changed counts at most every COUNTS_MS. */
export class StatusThrottle {
  readonly #read: () => readonly BridgeConnectionStatus[];
  readonly #emit: (status: readonly BridgeConnectionStatus[]) => void;
  #emitted = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(
    read: () => readonly BridgeConnectionStatus[],
    emit: (status: readonly BridgeConnectionStatus[]) => void,
  ) {
    this.#read = read;
    this.#emit = emit;
  }

  changed(): void {
    if (statesOf(this.#read()) === this.#emitted) this.#timer ??= setTimeout(() => this.now(), COUNTS_MS);
    else this.now();
  }

  now(): void {
    this.close();
    const status = this.#read();
    this.#emitted = statesOf(status);
    this.#emit(status);
  }

  close(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

const statesOf = (status: readonly BridgeConnectionStatus[]): string =>
  JSON.stringify(
    status.map(({ connectionName, state, isConnected, error }) => [connectionName, state, isConnected, error]),
  );
