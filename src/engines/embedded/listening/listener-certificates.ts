import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { CertificateStore, ListenerCertificateSet } from '../store/certificate-store.ts';
import type { Listener } from './listener.ts';
import type { PreparedTls, TlsGate } from './tls-gate.ts';

/** The certificates of the TLS listeners, in use and in the store. */
export class ListenerCertificates {
  readonly #store: CertificateStore;
  readonly #listeners: readonly Listener[];

  /** Listeners may be added to `listeners`; call `apply` for each. */
  constructor(store: CertificateStore, listeners: readonly Listener[]) {
    this.#store = store;
    this.#listeners = listeners;
  }

  /** Applies the stored certificates. The listener has none if OpenSSL no longer accepts them (`onUnusable`). */
  apply({ info, tls }: Listener, onUnusable: (error: unknown) => void): void {
    if (tls === null) return;
    try {
      tls.use(prepare(tls, this.of(info.number)));
    } catch (error) {
      onUnusable(error);
    }
  }

  get numbers(): readonly number[] {
    return this.#listeners.filter(({ tls }) => tls !== null).map(({ info }) => info.number);
  }

  find(number: number): Listener | undefined {
    return this.#listeners.find(({ info }) => info.number === number);
  }

  of(number: number): ListenerCertificateSet {
    return this.#store.of(number);
  }

  /** Resolves when the certificates are on disk and used for new handshakes. Refuses unusable ones first. */
  async change(number: number, gate: TlsGate, certificates: ListenerCertificateSet): Promise<void> {
    const prepared = prepare(gate, certificates);
    await this.#store.put(number, certificates);
    gate.use(prepared);
  }
}

function prepare(gate: TlsGate, { server, authorities }: ListenerCertificateSet): PreparedTls {
  try {
    return gate.prepare({ server, authorities: authorities.map(({ cert }) => cert) });
  } catch (error) {
    const { reason = 'OpenSSL does not accept it' } = error as { readonly reason?: string };
    throw new ControlRefusal(`The certificate cannot be used: ${reason}`);
  }
}
