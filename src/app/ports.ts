import type { Logger } from 'pino';
import { startHttpServer } from '../gateway/http/http-server.ts';
import { KnownHosts } from '../gateway/http/known-hosts.ts';
import { Traffic } from '../gateway/http/traffic.ts';
import type { Closers } from '../platform/closers.ts';
import type { Config } from '../platform/config/config.ts';
import { MIB } from './brokers.ts';
import { callerOf } from './context-maker.ts';

/** Connections to the port of METRICS_HOST. A scraper needs one. */
const MAX_METRICS_CONNECTIONS = 100;

/** A server waits 5 s for the responses that it sends. */
export const HTTP = { name: 'HTTP', maxMs: 7_000 };

export type Ports = Awaited<ReturnType<typeof openPorts>>;

/** Opens the HTTP port, and that of METRICS_HOST if it is set. Requests get 503 until their handlers are set. */
export async function openPorts(config: Config, log: Logger, closers: Closers) {
  const { host, port, metricsHost, publicUrl, allowedHosts: allowed, trustProxy: isBehindProxy } = config;
  const { maxConnections, maxConnectionsPerNetwork } = config;
  const traffic = trafficOf(config);
  const http = closers.keep(
    await startHttpServer({
      host,
      port,
      maxConnections,
      maxConnectionsPerNetwork,
      isBehindProxy,
      onRefused: (reason) =>
        log.warn(
          { maxConnections, maxConnectionsPerNetwork },
          `connections are refused: ${reason === 'FULL' ? 'MAX_CONNECTIONS' : 'MAX_CONNECTIONS_PER_NETWORK'} are open`,
        ),
      knownHosts: new KnownHosts({ host, publicUrl, allowed }),
      traffic,
    }),
    HTTP,
  );
  const metrics = metricsHost
    ? closers.keep(
        await startHttpServer({
          ...metricsHost,
          maxConnections: MAX_METRICS_CONNECTIONS,
          knownHosts: new KnownHosts({ host: metricsHost.host, publicUrl, allowed }),
        }),
        HTTP,
      )
    : null;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`;
  return { http, metrics, traffic, url };
}

/** One network may use half of a budget, and that half must have room for two bodies of the largest size. */
function trafficOf({ maxRequestsMb, maxResponsesMb, maxBodyBytes, trustProxy }: Config): Traffic {
  return new Traffic({
    maxRequestBytes: Math.max(maxRequestsMb * MIB, 4 * maxBodyBytes),
    maxResponseBytes: maxResponsesMb * MIB,
    callerOf: ({ headers, socket }) => callerOf(headers['x-forwarded-for'], socket.remoteAddress ?? '', trustProxy),
  });
}
