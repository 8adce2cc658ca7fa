import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { Journal } from '../store/journal.ts';
import type { Listener } from './listener.ts';
import type { PreparedTls, TlsGate } from './tls-gate.ts';

/** The certificate is in PEM, the fingerprint like `AB:CD:…`. */
interface StoredAuthority {
  readonly fileName: string;
  readonly fingerprint256: string;
  readonly cert: string;
}

/** `cert` is the leaf followed by its chain; the fingerprint is that of the leaf. */
interface StoredServerCertificate extends StoredAuthority {
  readonly key: string;
}

interface CertificateSet {
  readonly server: StoredServerCertificate | null;
  /** Sorted by file name. */
  readonly authorities: readonly StoredAuthority[];
}

const NONE: CertificateSet = { server: null, authorities: [] };

/** The certificates of the TLS listeners by number of the listener, in use and in the journal. */
export class ListenerCertificates {
  readonly #journal: Journal;
  readonly #listeners: readonly Listener[];
  readonly #certificates = new Map<number, CertificateSet>();

  /** Deletes certificates of listeners that are not in `withTls`. Call `apply` for each new one of `listeners`. */
  constructor(journal: Journal, withTls: readonly number[], listeners: readonly Listener[]) {
    this.#journal = journal;
    this.#listeners = listeners;
    for (const { listener, ...server } of journal.rows<StoredServerCertificate & { listener: number }>(
      'SELECT listener, file_name AS fileName, fingerprint256, cert, key FROM server_certificate',
    )) {
      this.#certificates.set(listener, { server, authorities: [] });
    }
    for (const { listener, ...authority } of journal.rows<StoredAuthority & { listener: number }>(
      'SELECT listener, file_name AS fileName, fingerprint256, cert FROM client_authority',
    )) {
      const { server, authorities } = this.of(listener);
      this.#certificates.set(listener, { server, authorities: [...authorities, authority].sort(byFileName) });
    }
    for (const listener of [...this.#certificates.keys()]) if (!withTls.includes(listener)) this.#delete(listener);
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

  of(number: number): CertificateSet {
    return this.#certificates.get(number) ?? NONE;
  }

  /** Resolves when the certificates are on disk and used for new handshakes. Refuses unusable ones first. */
  async change(number: number, gate: TlsGate, certificates: CertificateSet): Promise<void> {
    const prepared = prepare(gate, certificates);
    this.#journal.requireDisk();
    const previous = this.of(number);
    const { server, authorities } = certificates;
    this.#certificates.set(number, { server, authorities: authorities.toSorted(byFileName) });
    if (server !== previous.server) this.#writeServer(number, server);
    for (const { fileName } of previous.authorities.filter((authority) => !authorities.includes(authority))) {
      this.#journal.add('DELETE FROM client_authority WHERE listener = ? AND file_name = ?', number, fileName);
    }
    for (const { fileName, fingerprint256, cert } of authorities.filter((one) => !previous.authorities.includes(one))) {
      const sql = 'INSERT INTO client_authority (listener, file_name, fingerprint256, cert) VALUES (?, ?, ?, ?)';
      this.#journal.add(sql, number, fileName, fingerprint256, cert);
    }
    await this.#journal.commit();
    gate.use(prepared);
  }

  #writeServer(listener: number, server: StoredServerCertificate | null): void {
    if (server === null) {
      this.#journal.add('DELETE FROM server_certificate WHERE listener = ?', listener);
      return;
    }
    const { fileName, fingerprint256, cert, key } = server;
    const sql =
      'INSERT OR REPLACE INTO server_certificate (listener, file_name, fingerprint256, cert, key) VALUES (?, ?, ?, ?, ?)';
    this.#journal.add(sql, listener, fileName, fingerprint256, cert, key);
  }

  #delete(listener: number): void {
    this.#certificates.delete(listener);
    this.#journal.add('DELETE FROM server_certificate WHERE listener = ?', listener);
    this.#journal.add('DELETE FROM client_authority WHERE listener = ?', listener);
  }
}

const byFileName = (one: StoredAuthority, other: StoredAuthority) => (one.fileName < other.fileName ? -1 : 1);

function prepare(gate: TlsGate, { server, authorities }: CertificateSet): PreparedTls {
  try {
    return gate.prepare({ server, authorities: authorities.map(({ cert }) => cert) });
  } catch (error) {
    const { reason = 'OpenSSL does not accept it' } = error as { readonly reason?: string };
    throw new ControlRefusal(`The certificate cannot be used: ${reason}`);
  }
}
