import type { BaseLogger } from 'pino';

export type StorageLog = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
