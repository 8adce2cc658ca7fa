import type { CertificateStore, KeptCertificates } from '../store/certificate-store.ts';
import type { Listener } from './listener.ts';
import type { PreparedTls, TlsGate } from './tls-gate.ts';

/** Why a listener gets no certificate. */
export type ListenerProblem = 'NO_LISTENER' | 'NO_TLS';

export interface ListenerWithTls {
  readonly number: number;
  readonly gate: TlsGate;
}

/** OpenSSL does not take it; the message is a sentence that says why. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';

  constructor(cause: unknown) {
    const { reason = 'OpenSSL does not take it' } = cause as { readonly reason?: string };
    super(`The certificate cannot be used: ${reason}`, { cause });
  }
}

/** The certificates that TLS listeners serve, and what is kept of them. */
export class ListenerCertificates {
  readonly #store: CertificateStore;
  readonly #listeners: readonly Listener[];

  /** `listeners` may get more, each begun with `begin`. */
  constructor(store: CertificateStore, listeners: readonly Listener[]) {
    this.#store = store;
    this.#listeners = listeners;
  }

  /** Has a listener use what was kept of it. `onUnusable`: OpenSSL took it once and does not now; the listener is without until it is given others. */
  begin({ info, tls }: Listener, onUnusable: (error: unknown) => void): void {
    if (tls === null) return;
    try {
      tls.use(prepare(tls, this.of(info.number)));
    } catch (error) {
      onUnusable(error);
    }
  }

  /** Those with TLS. */
  get numbers(): readonly number[] {
    return this.#listeners.filter(({ tls }) => tls !== null).map(({ info }) => info.number);
  }

  find(number: number): ListenerWithTls | ListenerProblem {
    const listener = this.#listeners.find(({ info }) => info.number === number);
    if (listener === undefined) return 'NO_LISTENER';
    return listener.tls === null ? 'NO_TLS' : { number, gate: listener.tls };
  }

  of(number: number): KeptCertificates {
    return this.#store.of(number);
  }

  /** Kept on disk, and used from the next handshake on, when it resolves. Errors: UnusableCertificate, before anything changed. */
  async change({ number, gate }: ListenerWithTls, kept: KeptCertificates): Promise<void> {
    const prepared = prepare(gate, kept);
    await this.#store.put(number, kept);
    gate.use(prepared);
  }
}

function prepare(gate: TlsGate, { server, authorities }: KeptCertificates): PreparedTls {
  try {
    return gate.prepare({ server, authorities: authorities.map(({ cert }) => cert) });
  } catch (error) {
    throw new UnusableCertificate(error);
  }
}
