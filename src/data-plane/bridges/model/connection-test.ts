import type { ReadingLimits } from '../../../protocol/mqtt/reading-limits.ts';
import type { BridgeRules } from './bridge-kind.ts';
import type { BridgeConnectionState } from './bridge-status.ts';

export interface ConnectionTestOptions {
  readonly brokerId: string;
  /** Links of different groups have equal turns to connect. */
  readonly group: string;
  readonly rules: BridgeRules;
  /** Bounds the whole test. */
  readonly timeoutMs: number;
  readonly readingLimits: ReadingLimits;
  /** MQTT client ids of running connections, which the test must not take over. */
  readonly usedClientIds: ReadonlySet<string>;
}

export interface ConnectionTest {
  readonly state: Exclude<BridgeConnectionState, 'INACTIVE' | 'CONNECTING'>;
  readonly error: string | null;
  /** For callers who may not learn whether a host or a port can be reached. */
  readonly openError: string | null;
  /** Of the endpoint of a webhook; `null` for other kinds, and without a response. */
  readonly responseStatus: number | null;
}
