import type { TadaDocumentNode } from 'gql.tada';
import { type Client, createClient, type FormattedExecutionResult } from 'graphql-ws';
import { backoff } from './connectivity.ts';
import { textOf } from './post.ts';

/** Close codes of the service: the credentials have ended, or are missing. */
const REFUSALS: readonly number[] = [4403, 4401];
/** Longest wait between two attempts to connect, in milliseconds. */
const MAX_WAIT_MS = 10_000;
/** Longest wait before a subscription that has ended is repeated, in milliseconds. */
const MAX_REPEAT_MS = 30_000;
/** Codes of errors with which a repeated subscription would end again. */
const LASTING: readonly unknown[] = ['INVALID', 'NOT_ALLOWED', 'NOT_FOUND', 'NOT_SUPPORTED_BY_BROKER', 'UNAUTHORIZED'];
/** A connection that is silent for longer than the sum is lost, for example because the computer slept. */
const PING_MS = 12_000;
const PONG_MS = 5_000;

/** Errors of a subscription are those of GraphQL, or an event of the socket. */
const codeOf = (error: unknown): unknown => (Array.isArray(error) ? error[0]?.extensions?.code : undefined);

const isRefusal = (event: unknown): boolean => REFUSALS.includes((event as CloseEvent).code);

interface Options {
  /** Address of the graph. */
  readonly graph: string;
  /** `Authorization`. Default: the cookie of the session. */
  readonly authorization?: string;
  /** The service does not accept the credentials, so the connection is closed. */
  readonly onRefused: () => void;
}

/** The connection for live events. It is opened again when it is lost. */
export class LiveConnection {
  readonly #options: Options;
  readonly #listeners = new Set<(isOpen: boolean) => void>();
  #client: Client | null = null;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Opens it. It stays open without subscriptions, so that all screens know whether the service can be reached. */
  open(): Client {
    // The browser reports the loss of the network earlier than the connection does.
    addEventListener('offline', this.#terminate);
    this.#client ??= this.#connect();
    return this.#client;
  }

  /** Closes it with its subscriptions, for example because the next one is of another session. */
  close(): void {
    removeEventListener('offline', this.#terminate);
    // The service may close a connection that is being opened, for example because its session has ended.
    Promise.resolve(this.#client?.dispose()).catch(() => undefined);
    this.#client = null;
  }

  /** Calls `listener` whenever the connection opens or is lost. Returns how to stop. */
  onChange(listener: (isOpen: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Calls `receive` for each event. If the service ends the subscription, for example because the broker cannot be
   * reached, it is repeated, except after an error that lasts. `variables` are read again each time, as after a
   * reconnect. `onEnd` receives the error, `null` if there is none. Returns how to stop.
   */
  subscribe<Data, Variables>(
    document: TadaDocumentNode<Data, Variables>,
    variables: Variables & Record<string, unknown>,
    receive: (data: Data) => void,
    onEnd: (error: unknown) => void,
  ): () => void {
    let stop: (() => void) | null = null;
    let failures = 0;
    const start = () => {
      // An event may have an error instead of data, and may be the last one.
      let problem: unknown = null;
      const next = ({ data, errors }: FormattedExecutionResult<Data>) => {
        problem = data ? null : errors;
        if (!data) return onEnd(errors);
        failures = 0;
        receive(data);
      };
      const payload = { query: textOf(document), variables };
      stop = this.open().subscribe<Data>(payload, { next, error: repeat, complete: () => repeat(problem) });
    };
    const repeat = async (error: unknown) => {
      if (stop === null) return;
      onEnd(error);
      if (LASTING.includes(codeOf(error))) return;
      // Without credentials the connection is closed, and is opened with the next ones.
      do await backoff(failures++, MAX_REPEAT_MS);
      while (stop !== null && this.#client === null);
      if (stop !== null) start();
    };
    start();
    return () => {
      const end = stop;
      stop = null;
      end?.();
    };
  }

  readonly #terminate = (): void => this.#client?.terminate();

  #announce(isOpen: boolean): void {
    for (const listener of this.#listeners) listener(isOpen);
  }

  #connect(): Client {
    const { graph, authorization, onRefused } = this.#options;
    let pongTimer: ReturnType<typeof setTimeout> | undefined;
    const client = createClient({
      url: graph.replace('http', 'ws'),
      ...(authorization !== undefined && { connectionParams: { authorization } }),
      lazy: false,
      // Reported by `closed` below.
      onNonLazyError: () => undefined,
      retryAttempts: Number.POSITIVE_INFINITY,
      retryWait: (retries) => backoff(retries, MAX_WAIT_MS),
      keepAlive: PING_MS,
      // A service that is starting or ending may accept a connection and never respond.
      connectionAckWaitTimeout: PONG_MS,
      // A session that has ended stays ended.
      shouldRetry: (event) => !isRefusal(event),
      on: {
        connected: () => this.#announce(true),
        ping: (isReceived) => {
          if (!isReceived) pongTimer = setTimeout(() => client.terminate(), PONG_MS);
        },
        pong: (isReceived) => isReceived && clearTimeout(pongTimer),
        closed: (event) => {
          clearTimeout(pongTimer);
          if (this.#client !== client) return;
          const isRefused = isRefusal(event);
          if (isRefused) this.#client = null;
          this.#announce(false);
          if (isRefused) onRefused();
        },
      },
    });
    return client;
  }
}
