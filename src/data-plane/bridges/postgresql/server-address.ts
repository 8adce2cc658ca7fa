import type { InputIssue } from '../../../platform/errors.ts';
import { controlCharacterIssues } from '../../../platform/text/texts.ts';
import type { ServerConfig } from './postgresql-config.ts';

interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string | undefined;
  readonly tls: boolean;
  readonly verifyCa: boolean;
}

const PORT = 5432;
/** Values of `sslmode`. Modes that fall back to no TLS are not supported. */
const TLS_MODES: Readonly<Record<string, { readonly tls: boolean; readonly verifyCa: boolean }>> = {
  disable: { tls: false, verifyCa: true },
  'no-verify': { tls: true, verifyCa: false },
  require: { tls: true, verifyCa: true },
  'verify-ca': { tls: true, verifyCa: true },
  'verify-full': { tls: true, verifyCa: true },
};

/**
 * Parses the address of a configuration. Refuses other parameters of a URL, which could have a meaning for the client
 * (other hosts, files). Paths of issues are JSON pointers within the connection.
 */
export function serverAddress(config: ServerConfig): ServerAddress | readonly InputIssue[] {
  if (config.url === undefined) return ofParts(config);
  for (const name of ['host', 'port', 'database'] as const) {
    if (config[name] !== undefined) return [{ path: `/${name}`, reason: 'must not be given together with "url"' }];
  }
  const url = URL.canParse(config.url) ? new URL(config.url) : null;
  const refused = (reason: string) => [{ path: '/url', reason }];
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    return refused('must be a URL such as postgresql://host:5432/database');
  }
  if (url.hostname === '') return refused('must name a host');
  if (url.hash !== '') return refused('must not have a fragment');
  const others = [...url.searchParams.keys()].filter((name) => name !== 'sslmode');
  if (others.length > 0) return refused('must have no parameter but "sslmode"');
  const [mode, ...moreModes] = url.searchParams.getAll('sslmode');
  const tls = mode === undefined ? undefined : Object.hasOwn(TLS_MODES, mode) ? TLS_MODES[mode] : null;
  if (tls === null || moreModes.length > 0)
    return refused(`must have as "sslmode" one of ${Object.keys(TLS_MODES).join(', ')}`);
  const database = decoded(url.pathname.slice(1));
  const user = config.username ?? decoded(url.username);
  const password = config.password ?? decoded(url.password);
  if (database === null || user === null || password === null) return refused('is not encoded as a URL');
  if (url.port === '0') return refused('must have a port from 1 to 65535');
  return complete(
    {
      host: url.hostname.toLowerCase(),
      port: url.port === '' ? PORT : Number(url.port),
      database,
      user,
      password: password === '' ? undefined : password,
      tls: config.tls ?? tls?.tls ?? false,
      verifyCa: config.verifyCa ?? tls?.verifyCa ?? true,
    },
    '/url',
  );
}

function ofParts(config: ServerConfig): ServerAddress | readonly InputIssue[] {
  const { host, port = PORT, database = '', username = '', password, tls = false, verifyCa = true } = config;
  if (host === undefined) return [{ path: '/url', reason: 'is needed, or "host"' }];
  // A path would be a folder of Unix sockets. A host that a URL does not accept is invalid.
  const text = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const url = URL.canParse(`postgresql://${text}/`) ? new URL(`postgresql://${text}/`) : null;
  if (url === null || url.hostname.toLowerCase() !== text.toLowerCase()) {
    return [{ path: '/host', reason: 'must be a host name or an address' }];
  }
  const address = { host: text.toLowerCase(), port, database, user: username, password, tls, verifyCa };
  return complete(address, '');
}

function complete(address: ServerAddress, path: string): ServerAddress | readonly InputIssue[] {
  if (address.database === '') return [{ path: path || '/database', reason: 'must name a database' }];
  if (address.user === '') return [{ path: '/username', reason: 'is needed' }];
  const { database, user, password } = address;
  const issues = controlCharacterIssues(path || '/', `${database}${user}${password}`);
  return issues.length > 0 ? issues : address;
}

export const isAddress = (address: ServerAddress | readonly InputIssue[]): address is ServerAddress =>
  !Array.isArray(address);

/** IPv6 addresses have brackets only in URLs. */
export const dialledHost = ({ host }: ServerAddress): string => host.replace(/^\[(.*)\]$/, '$1');

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
