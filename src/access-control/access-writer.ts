import type { BrokerSession } from '../mqtt/broker-session.ts';
import type { AccessChange } from './access-change.ts';
import type { AccessDialect, AccessPolicy } from './access-model.ts';
import type { DynsecCommand, TouchedObject } from './access-plan.ts';
import type { WriteReport } from './access-report.ts';

/** What a writer needs of an AccessIndex. */
export interface PolicySource {
  current(): Promise<PolicyNow>;
  refresh(touched: readonly TouchedObject[]): Promise<PolicyNow>;
}

export interface PolicyNow {
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
}

/** Who is connected, as far as the broker can tell. */
export interface ConnectedNow {
  readonly clients: readonly { readonly clientId: string; readonly username: string | null }[];
  readonly isComplete: boolean;
}

export interface AccessWriterOptions {
  readonly index: PolicySource;
  /** A ControlCaller. */
  readonly controls: {
    callAll(
      api: 'dynamic-security',
      commands: readonly DynsecCommand[],
      options?: { readonly timeoutMs?: number },
    ): Promise<PromiseSettledResult<unknown>[]>;
  };
  readonly session: Pick<BrokerSession, 'status' | 'onStatus'>;
  /** The account of this service's own connection; null: it connects without user name. */
  readonly gatewayUsername: string | null;
  readonly connectedClients: () => Promise<ConnectedNow>;
  /** Longest wait for a broker to come back and be read after an answer was lost. Default 10,000. */
  readonly readBackMs?: number;
}

/** Carries out changes of one broker, one list after the other, and says what became of them. */
export class AccessWriter {
  constructor(_options: AccessWriterOptions) {}

  async write(_changes: readonly AccessChange[], _options: { readonly dryRun: boolean }): Promise<WriteReport> {
    throw new Error('not written yet');
  }
}
