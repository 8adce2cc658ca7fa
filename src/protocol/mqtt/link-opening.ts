import { randomBytes } from 'node:crypto';
import { type ConnectOptions, connectOptions } from './connect-options.ts';
import { type BrokerLinkOptions, keepaliveOf } from './link-options.ts';
import { LinkVersion } from './link-version.ts';
import { CONTROL_LINK_LIMITS, largestOf } from './packet-limits.ts';
import type { ReadingLimits } from './reading-limits.ts';
import type { SplitClientOptions } from './split-client.ts';

const randomId = (prefix: string): string => `${prefix}-${randomBytes(4).toString('hex')}`;

/** The client id, the address and the version with which a link connects next. */
export class LinkOpening {
  readonly #options: BrokerLinkOptions;
  readonly #readingLimits: ReadingLimits;
  #endpoint: ConnectOptions | null = null;
  readonly version: LinkVersion;
  clientId: string;
  /** Whether the link was connected before, in this process. */
  hasConnected = false;

  constructor(options: BrokerLinkOptions, readingLimits: ReadingLimits) {
    this.#options = options;
    this.#readingLimits = readingLimits;
    this.version = new LinkVersion(options.version);
    this.clientId = options.clientId ?? randomId(`brokergraph-${options.id}`);
  }

  /** Read once, because a broker that is away costs many attempts. Errors: INVALID. */
  get endpoint(): ConnectOptions {
    this.#endpoint ??= connectOptions(this.#options);
    return this.#endpoint;
  }

  /** After another client took over the client id. */
  changeClientId(): void {
    const { id, clientId, changesClientId = clientId === undefined } = this.#options;
    if (changesClientId) this.clientId = randomId(clientId ?? `brokergraph-${id}`);
  }

  /** Errors: INVALID. */
  next(): SplitClientOptions {
    const { limits = CONTROL_LINK_LIMITS } = this.#options;
    return {
      client: this.#clientOptions(largestOf(limits)),
      version: this.version.current,
      limits,
      readingLimits: this.#readingLimits,
    };
  }

  #clientOptions(maximumPacketSize: number): ConnectOptions {
    const version = this.version.current;
    const { timeoutMs, isLasting = false, sessionExpirySeconds = 60, receiveMaximum = 65_535 } = this.#options;
    return {
      ...this.endpoint,
      clientId: this.clientId,
      protocolVersion: version,
      // The cache of all two-byte numbers is 65,536 buffers and 7 MB, and saves one small allocation per packet.
      writeCache: false,
      protocolId: 'MQTT',
      // Only a lasting link resumes a session of an earlier process.
      clean: !isLasting && (version === 4 || sessionExpirySeconds === 0 || !this.hasConnected),
      keepalive: keepaliveOf(this.#options),
      connectTimeout: timeoutMs,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      timerVariant: 'native',
      ...(version === 5
        ? {
            properties: {
              receiveMaximum,
              maximumPacketSize,
              ...(sessionExpirySeconds > 0 ? { sessionExpiryInterval: sessionExpirySeconds } : {}),
            },
          }
        : {}),
    };
  }
}
