import type { Journal } from './journal.ts';

/** PEM texts; fingerprints as `AB:CD:…`. */
export interface KeptAuthority {
  readonly fileName: string;
  readonly fingerprint256: string;
  readonly cert: string;
}

/** `cert`: leaf first, then its chain. The fingerprint is the leaf's. */
export interface KeptServerCertificate extends KeptAuthority {
  readonly key: string;
}

/** What one listener has. */
export interface KeptCertificates {
  readonly server: KeptServerCertificate | null;
  /** In order of their file names. */
  readonly authorities: readonly KeptAuthority[];
}

const NONE: KeptCertificates = { server: null, authorities: [] };

/** The certificates of TLS listeners, in memory over the journal; each change is on disk when it resolves. */
export class CertificateStore {
  readonly #journal: Journal;
  readonly #kept = new Map<number, KeptCertificates>();

  /** `listeners`: the numbers of those with TLS. Of others, which are gone, everything is thrown away. */
  constructor(journal: Journal, listeners: readonly number[]) {
    this.#journal = journal;
    for (const { listener, ...server } of journal.rows<KeptServerCertificate & Row>(
      'SELECT listener, file_name AS fileName, fingerprint256, cert, key FROM server_certificate',
    )) {
      this.#kept.set(listener, { server, authorities: [] });
    }
    for (const { listener, ...authority } of journal.rows<KeptAuthority & Row>(
      'SELECT listener, file_name AS fileName, fingerprint256, cert FROM client_authority',
    )) {
      const { server, authorities } = this.of(listener);
      this.#kept.set(listener, { server, authorities: [...authorities, authority].sort(byFileName) });
    }
    for (const listener of [...this.#kept.keys()]) if (!listeners.includes(listener)) this.#forget(listener);
  }

  of(listener: number): KeptCertificates {
    return this.#kept.get(listener) ?? NONE;
  }

  async put(listener: number, kept: KeptCertificates): Promise<void> {
    const before = this.of(listener);
    const { server, authorities } = kept;
    this.#kept.set(listener, { server, authorities: authorities.toSorted(byFileName) });
    if (server !== before.server) this.#writeServer(listener, server);
    for (const { fileName } of before.authorities.filter((authority) => !authorities.includes(authority))) {
      this.#journal.add('DELETE FROM client_authority WHERE listener = ? AND file_name = ?', listener, fileName);
    }
    for (const { fileName, fingerprint256, cert } of authorities.filter((one) => !before.authorities.includes(one))) {
      const sql = 'INSERT INTO client_authority (listener, file_name, fingerprint256, cert) VALUES (?, ?, ?, ?)';
      this.#journal.add(sql, listener, fileName, fingerprint256, cert);
    }
    await this.#journal.commit();
  }

  #writeServer(listener: number, server: KeptServerCertificate | null): void {
    if (server === null) {
      this.#journal.add('DELETE FROM server_certificate WHERE listener = ?', listener);
      return;
    }
    const { fileName, fingerprint256, cert, key } = server;
    const sql =
      'INSERT OR REPLACE INTO server_certificate (listener, file_name, fingerprint256, cert, key) VALUES (?, ?, ?, ?, ?)';
    this.#journal.add(sql, listener, fileName, fingerprint256, cert, key);
  }

  #forget(listener: number): void {
    this.#kept.delete(listener);
    this.#journal.add('DELETE FROM server_certificate WHERE listener = ?', listener);
    this.#journal.add('DELETE FROM client_authority WHERE listener = ?', listener);
  }
}

const byFileName = (one: KeptAuthority, other: KeptAuthority) => (one.fileName < other.fileName ? -1 : 1);

interface Row {
  readonly listener: number;
}
