import type { LookupFunction } from 'node:net';
import type { IClientOptions } from 'mqtt';
import { invalid } from '../../platform/errors.ts';
import { withoutNulls } from '../../platform/without-nulls.ts';
import { plainPem } from '../certificates/connection-pem.ts';
import { AllowedHosts, type InsideRule } from '../network/allowed-hosts.ts';
import { lengthProblem } from './topics.ts';

export interface BrokerAddress {
  /** `mqtt:`, `mqtts:`, `ws:` or `wss:`. May contain user name and password; the fields below override them. */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  /** PEM. Certificate authorities that replace the ones trusted by Node. */
  readonly ca?: string | Buffer;
  /** PEM. Client certificate and key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly verifyCa?: boolean;
  /** See AllowedHosts. Default: all hosts. */
  readonly allowedHosts?: readonly string[];
  readonly inside?: InsideRule;
}

export type ConnectOptions = IClientOptions & { readonly lookup?: LookupFunction };

const PORTS: Readonly<Record<string, number>> = { mqtt: 1883, mqtts: 8883, ws: 80, wss: 443 };
/** `null` for another scheme. */
export function portOf({ protocol, port }: URL): number | null {
  const scheme = protocol.slice(0, -1);
  if (!isProtocol(scheme)) return null;
  return port === '' ? (PORTS[scheme] ?? null) : Number(port);
}

const TLS_PROTOCOLS = new Set(['mqtts', 'wss']);

type LinkProtocol = 'mqtt' | 'mqtts' | 'ws' | 'wss';

const isProtocol = (text: string): text is LinkProtocol => Object.hasOwn(PORTS, text);

/** The URL is parsed here, because MQTT.js lets its query change the client identifier. Errors: INVALID. */
export function connectOptions(address: BrokerAddress): ConnectOptions {
  const url = URL.canParse(address.url) ? new URL(address.url) : null;
  const protocol = url?.protocol.slice(0, -1) ?? '';
  if (!url || !isProtocol(protocol)) {
    throw invalid([{ path: '/url', reason: 'must be a URL with the scheme mqtt, mqtts, ws or wss' }]);
  }
  if (url.hostname === '') throw invalid([{ path: '/url', reason: 'must name a host' }]);
  const hosts = new AllowedHosts(address.allowedHosts ?? [], address.inside);
  const refusal = hosts.refusal(url.hostname);
  if (refusal !== null) throw invalid([{ path: '/url', reason: refusal }]);
  const username = address.username ?? (url.username === '' ? undefined : decode(url.username));
  const password = address.password ?? (url.password === '' ? undefined : decode(url.password));
  for (const [path, text] of Object.entries({ username, password })) {
    const reason = text === undefined ? null : lengthProblem(text);
    if (reason !== null) throw invalid([{ path: `/${path}`, reason }]);
  }
  return {
    protocol,
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: portOf(url) ?? 1883,
    ...withoutNulls({ lookup: hosts.lookup, username, password }),
    ...(protocol.startsWith('ws') ? { path: `${url.pathname}${url.search}` } : {}),
    ...(TLS_PROTOCOLS.has(protocol) ? tlsOptions(address) : {}),
  };
}

/** Why a broker cannot have a URL with this port or path; `null` if it can. */
export function portOrPathProblem({ protocol, port, pathname, search, hash }: URL): string | null {
  if (port === '0') return 'must have a port from 1 to 65535';
  if (hash !== '') return 'must not have a fragment';
  const hasPath = (pathname !== '' && pathname !== '/') || search !== '';
  return hasPath && !protocol.startsWith('ws') ? 'must not have a path: only ws and wss use one' : null;
}

function tlsOptions({ ca, cert, key, verifyCa = true }: BrokerAddress): IClientOptions {
  return {
    rejectUnauthorized: verifyCa,
    ...withoutNulls({
      ca: ca && Buffer.from(plainPem(ca)),
      cert: cert && Buffer.from(plainPem(cert)),
      key: key && Buffer.from(key),
    }),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
