import type { CertificateStore, ListenerCertificateSet } from '../store/certificate-store.ts';
import type { Listener } from './listener.ts';
import type { PreparedTls, TlsGate } from './tls-gate.ts';

/** Why a listener cannot have certificates. */
type ListenerProblem = 'NO_LISTENER' | 'NO_TLS';

export interface ListenerWithTls {
  readonly number: number;
  readonly gate: TlsGate;
}

/** OpenSSL does not accept the certificate. The message is a sentence with the reason. */
export class UnusableCertificate extends Error {
  override readonly name = 'UnusableCertificate';

  constructor(cause: unknown) {
    const { reason = 'OpenSSL does not accept it' } = cause as { readonly reason?: string };
    super(`The certificate cannot be used: ${reason}`, { cause });
  }
}

/** The certificates of the TLS listeners, in use and in the store. */
export class ListenerCertificates {
  readonly #store: CertificateStore;
  readonly #listeners: readonly Listener[];

  /** Listeners may be added to `listeners`; call `apply` for each. */
  constructor(store: CertificateStore, listeners: readonly Listener[]) {
    this.#store = store;
    this.#listeners = listeners;
  }

  /**
   * Applies the stored certificates. `onUnusable` is called if OpenSSL no longer accepts them; the listener then has no
   * certificate.
   */
  apply({ info, tls }: Listener, onUnusable: (error: unknown) => void): void {
    if (tls === null) return;
    try {
      tls.use(prepare(tls, this.of(info.number)));
    } catch (error) {
      onUnusable(error);
    }
  }

  /** Numbers of the listeners with TLS. */
  get numbers(): readonly number[] {
    return this.#listeners.filter(({ tls }) => tls !== null).map(({ info }) => info.number);
  }

  find(number: number): ListenerWithTls | ListenerProblem {
    const listener = this.#listeners.find(({ info }) => info.number === number);
    if (listener === undefined) return 'NO_LISTENER';
    return listener.tls === null ? 'NO_TLS' : { number, gate: listener.tls };
  }

  of(number: number): ListenerCertificateSet {
    return this.#store.of(number);
  }

  /**
   * Resolves when the certificates are on disk and used for new handshakes. Throws `UnusableCertificate` before the
   * first change.
   */
  async change({ number, gate }: ListenerWithTls, certificates: ListenerCertificateSet): Promise<void> {
    const prepared = prepare(gate, certificates);
    await this.#store.put(number, certificates);
    gate.use(prepared);
  }
}

function prepare(gate: TlsGate, { server, authorities }: ListenerCertificateSet): PreparedTls {
  try {
    return gate.prepare({ server, authorities: authorities.map(({ cert }) => cert) });
  } catch (error) {
    throw new UnusableCertificate(error);
  }
}
