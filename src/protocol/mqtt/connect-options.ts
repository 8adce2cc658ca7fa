import type { LookupFunction } from 'node:net';
import type { IClientOptions } from 'mqtt';
import { invalid } from '../../platform/errors.ts';
import { AllowedHosts, type InsideRule } from '../network/allowed-hosts.ts';

/** Where a broker is and who we are to it. */
export interface BrokerAddress {
  /** `mqtt:`, `mqtts:`, `ws:` or `wss:`. User name and password in it count where the fields below are absent. */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  /** PEM. Authorities that may sign the broker's certificate, instead of the ones Node trusts. */
  readonly ca?: string | Buffer;
  /** PEM. Client certificate and its key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Whether the broker's certificate and host name are verified. Default true. */
  readonly verifyCa?: boolean;
  /** See AllowedHosts; absent: everywhere. */
  readonly allowedHosts?: readonly string[];
  /** See AllowedHosts. */
  readonly inside?: InsideRule;
}

/** What mqtt.js takes, and how the addresses of a host are found. */
export type ConnectOptions = IClientOptions & { readonly lookup?: LookupFunction };

const PORTS: Readonly<Record<string, number>> = { mqtt: 1883, mqtts: 8883, ws: 80, wss: 443 };
const TLS_PROTOCOLS = new Set(['mqtts', 'wss']);

export type LinkProtocol = 'mqtt' | 'mqtts' | 'ws' | 'wss';

const isProtocol = (text: string): text is LinkProtocol => Object.hasOwn(PORTS, text);

/**
 * The address as mqtt.js takes it. The URL is taken apart here, because mqtt.js would let the URL's query change the client id.
 * Errors: INVALID, without the URL in the message.
 */
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
  return {
    protocol,
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (PORTS[protocol] ?? 1883) : Number(url.port),
    ...(hosts.lookup === undefined ? {} : { lookup: hosts.lookup }),
    ...(protocol.startsWith('ws') ? { path: `${url.pathname}${url.search}` } : {}),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(TLS_PROTOCOLS.has(protocol) ? tlsOptions(address) : {}),
  };
}

function tlsOptions({ ca, cert, key, verifyCa = true }: BrokerAddress): IClientOptions {
  return {
    rejectUnauthorized: verifyCa,
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(cert === undefined ? {} : { cert: Buffer.from(cert) }),
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
