/** What the service and a broker's worker thread tell each other. */
export interface WorkerOptions {
  readonly folder: string;
  readonly version: string;
  readonly mqtt: { readonly host: string; readonly port: number };
  readonly ws: { readonly host: string; readonly port: number } | null;
  readonly administrator: { readonly username: string; readonly password: string };
  readonly sysIntervalMs: number;
  readonly streamStorageBytes: number;
}

export type WorkerMessage =
  | { readonly type: 'running'; readonly mqttPort: number; readonly wsPort: number | null }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'log'; readonly level: 'warn' | 'error'; readonly text: string; readonly reason?: string }
  | { readonly type: 'closed' };

export type ServiceMessage = { readonly type: 'close' };
