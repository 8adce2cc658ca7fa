import type { BaseLogger } from 'pino';

/** What storage needs of a logger: any pino logger or child of one. */
export type StorageLog = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
