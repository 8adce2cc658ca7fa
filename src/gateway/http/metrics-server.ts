import { createServer } from 'node:http';
import type { ListenAddress } from '../../platform/config/setting-values.ts';
import { type FetchHandler, type NodeHandler, onNode } from './fetch-handler.ts';
import { KnownHosts, type KnownHostsOptions } from './known-hosts.ts';
import { listen } from './listen.ts';
import { writeJson } from './raw-response.ts';

/** Further connections are closed immediately. A scraper needs one. */
const MAX_CONNECTIONS = 100;
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 10_000, timeout: 60_000 } as const;

interface MetricsServer {
  readonly port: number;
  readonly serve: (handler: FetchHandler) => void;
  readonly close: () => Promise<void>;
}

export async function startMetricsServer(
  { host, port }: ListenAddress,
  names: Omit<KnownHostsOptions, 'host'>,
): Promise<MetricsServer> {
  const knownHosts = new KnownHosts({ ...names, host });
  let handle: NodeHandler | null = null;
  const server = createServer(TIMEOUTS, (req, res) => {
    if (!knownHosts.accepts(req.headers.host)) {
      const message = 'Host is not a name of this service. If it should be one, add it to the setting ALLOWED_HOSTS';
      writeJson(res, 421, { message, code: 'UNKNOWN_HOST', status: 421 });
    } else if (req.url !== '/metrics') {
      writeJson(res, 404, { message: 'Only /metrics is served here', code: 'NOT_FOUND', status: 404 });
    } else if (handle === null) {
      writeJson(res, 503, { message: 'The service is starting', code: 'STARTING', status: 503 });
    } else handle(req, res);
  });
  server.maxConnections = MAX_CONNECTIONS;
  return {
    port: await listen(server, host, port),
    serve: (handler) => {
      handle = onNode(handler);
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
