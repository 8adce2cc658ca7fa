import type { SinkConnectionConfig } from '../sink/sink.ts';
import type { TlsMaterial } from '../sink/tls-material.ts';

/** Configuration of the bridge `webhook-bridge`, as its schema describes it. */
export interface WebhookBridgeConfig {
  readonly connections: readonly WebhookConnectionConfig[];
}

export interface WebhookConnectionConfig extends SinkConnectionConfig, TlsMaterial {
  readonly url: string;
  /** One, or several with spaces between, of which each signs. */
  readonly secret: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly topics: readonly string[];
  readonly qos?: 0 | 1 | 2;
  readonly payload?: PayloadForm;
  readonly timeoutMs?: number;
}

/** text: UTF-8 where it is, base64 otherwise. json: as JSON where it is, as text otherwise. */
export type PayloadForm = 'text' | 'json' | 'base64';

export const TIMEOUT_MS = 15_000;
