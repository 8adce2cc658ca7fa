import type { BaseLogger } from 'pino';

/** The part of a pino logger that storage uses. */
export type StorageLog = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
