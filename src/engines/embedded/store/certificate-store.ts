import type { Journal } from './journal.ts';

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

export interface ListenerCertificateSet {
  readonly server: StoredServerCertificate | null;
  readonly authorities: readonly StoredAuthority[];
}

const NONE: ListenerCertificateSet = { server: null, authorities: [] };

export class CertificateStore {
  readonly #journal: Journal;
  readonly #certificates = new Map<number, ListenerCertificateSet>();

  /** `listeners` are the numbers of listeners with TLS. The certificates of other listeners are deleted. */
  constructor(journal: Journal, listeners: readonly number[]) {
    this.#journal = journal;
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
    for (const listener of [...this.#certificates.keys()]) if (!listeners.includes(listener)) this.#delete(listener);
  }

  of(listener: number): ListenerCertificateSet {
    return this.#certificates.get(listener) ?? NONE;
  }

  /** Resolves when the certificates are on disk. */
  async put(listener: number, certificates: ListenerCertificateSet): Promise<void> {
    const previous = this.of(listener);
    const { server, authorities } = certificates;
    this.#certificates.set(listener, { server, authorities: authorities.toSorted(byFileName) });
    if (server !== previous.server) this.#writeServer(listener, server);
    for (const { fileName } of previous.authorities.filter((authority) => !authorities.includes(authority))) {
      this.#journal.add('DELETE FROM client_authority WHERE listener = ? AND file_name = ?', listener, fileName);
    }
    for (const { fileName, fingerprint256, cert } of authorities.filter((one) => !previous.authorities.includes(one))) {
      const sql = 'INSERT INTO client_authority (listener, file_name, fingerprint256, cert) VALUES (?, ?, ?, ?)';
      this.#journal.add(sql, listener, fileName, fingerprint256, cert);
    }
    await this.#journal.commit();
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
