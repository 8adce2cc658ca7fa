import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import pg from 'pg';
import type { TestCertificate } from './certificates.ts';

/** Switches on TLS at the server with this certificate; client certificates are verified against the authority. */
export async function serveTls(
  database: string,
  authority: TestCertificate,
  { cert, key, leaf }: TestCertificate,
): Promise<void> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const files = { ssl_ca_file: authority.cert, ssl_cert_file: cert, ssl_key_file: key };
  for (const [setting, pem] of Object.entries(files)) {
    const lines = pg.escapeLiteral(pem.trim());
    // Written by the server itself, to which alone the key may be readable.
    await client.query(
      `COPY (SELECT unnest(string_to_array(${lines}, E'\\n'))) TO PROGRAM 'umask 077; cat > ${setting}.pem'`,
    );
    await client.query(`ALTER SYSTEM SET ${setting} = '${setting}.pem'`);
  }
  await client.query('ALTER SYSTEM SET ssl = on');
  await client.query('SELECT pg_reload_conf()');
  await client.end();
  const { hostname, port } = new URL(database);
  const { fingerprint256 } = new X509Certificate(leaf);
  while ((await servedFingerprint(hostname, Number(port))) !== fingerprint256);
}

/** Of the certificate that the server shows; null: it takes no TLS. */
async function servedFingerprint(host: string, port: number): Promise<string | null> {
  const client = new pg.Client({
    host,
    port,
    user: 'brokergraph',
    database: 'postgres',
    ssl: { rejectUnauthorized: false },
  });
  try {
    await client.connect();
    const { connection } = client as unknown as { connection: { stream: TLSSocket } };
    return connection.stream.getPeerX509Certificate()?.fingerprint256 ?? null;
  } catch {
    return null;
  } finally {
    await client.end();
  }
}
