import type { SinkConnectionConfig } from '../sink/sink.ts';
import type { TlsMaterial } from '../sink/tls-material.ts';

export interface WebhookBridgeConfig {
  readonly connections: readonly WebhookConnectionConfig[];
}

export interface WebhookConnectionConfig extends SinkConnectionConfig, TlsMaterial {
  readonly url: string;
  readonly secret: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly topics: readonly string[];
  readonly qos?: 0 | 1 | 2;
  readonly payload?: PayloadForm;
  readonly timeoutMs?: number;
}

/** text: UTF-8 if possible, otherwise base64. json: JSON if possible, otherwise as text. */
export type PayloadForm = 'text' | 'json' | 'base64';

export const TIMEOUT_MS = 15_000;
