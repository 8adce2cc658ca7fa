import { secondFactorContext } from '../../platform/auth/second-factors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { keyContext } from '../certificates/certificate-service.ts';
import { clusterPasswordContext } from '../clusters/dynsec/sync-store.ts';
import { identityContext } from '../sign-in/accounts.ts';
import { attemptContext } from '../sign-in/sign-in-attempts.ts';
import type { SignInProvider } from '../users/sign-in-methods.ts';

export type RowKey = Readonly<Record<string, string>>;

export interface SealedColumn {
  readonly model: keyof Database & string;
  readonly column: string;
  readonly primaryKey: readonly string[];
  /** A new seal must not change `updatedAt`. */
  readonly hasUpdatedAt?: true;
  readonly contextOf: (key: RowKey) => string;
  /**
   * If the key is lost. `STAYS`: without the value the sign-in of a user would be weaker, so an administrator decides
   * with `brokergraph user reset-second-factor`. `SHORT_LIVED`: rows expire within minutes.
   */
  readonly ifLost: 'NULL' | 'DELETED' | 'STAYS' | 'SHORT_LIVED';
}

const BY_ID = { primaryKey: ['id'], hasUpdatedAt: true } as const;

/** Every sealed column of the database. A test compares the list with the comments in `prisma/schema.prisma`. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { model: 'broker', column: 'sealedPassword', ifLost: 'NULL', ...BY_ID, contextOf: ({ id }) => `${id}/password` },
  { model: 'broker', column: 'sealedClientKey', ifLost: 'NULL', ...BY_ID, contextOf: ({ id }) => `${id}/clientKey` },
  { model: 'certificate', column: 'sealedKey', ifLost: 'NULL', ...BY_ID, contextOf: ({ id = '' }) => keyContext(id) },
  {
    model: 'bridgeConfig',
    column: 'sealedConfig',
    ifLost: 'DELETED',
    primaryKey: ['brokerId', 'bridge'],
    hasUpdatedAt: true,
    contextOf: ({ brokerId, bridge }) => `${brokerId}/${bridge}`,
  },
  {
    model: 'notificationChannel',
    column: 'sealedTarget',
    ifLost: 'NULL',
    ...BY_ID,
    contextOf: ({ id }) => `${id}/target`,
  },
  {
    model: 'clusterPassword',
    column: 'sealedPassword',
    ifLost: 'NULL',
    primaryKey: ['clusterId', 'username'],
    contextOf: ({ clusterId = '', username = '' }) => clusterPasswordContext(clusterId, username),
  },
  {
    model: 'user',
    column: 'totpSecret',
    ifLost: 'STAYS',
    ...BY_ID,
    contextOf: ({ id = '' }) => secondFactorContext(id),
  },
  {
    model: 'identity',
    column: 'sealedRefresh',
    ifLost: 'NULL',
    primaryKey: ['provider', 'subject'],
    contextOf: ({ provider, subject = '' }) => identityContext(provider as SignInProvider, subject),
  },
  {
    model: 'signInAttempt',
    column: 'sealed',
    ifLost: 'SHORT_LIVED',
    primaryKey: ['secretHash'],
    contextOf: ({ secretHash = '' }) => attemptContext(secretHash),
  },
  ...['command', 'answer'].map(
    (column): SealedColumn => ({
      model: 'hostedCall',
      column,
      ifLost: 'SHORT_LIVED',
      primaryKey: ['id'],
      contextOf: ({ id }) => `${id}/${column}`,
    }),
  ),
];
