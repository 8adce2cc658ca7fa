import type { Logger } from 'pino';
import { AUDIT_PATH, auditDownload } from '../domains/audit/audit-download.ts';
import { oidcEntries } from '../domains/sign-in/oidc/oidc-entries.ts';
import { SESSION_PATH, sessionEntry } from '../domains/sign-in/session-entry.ts';
import { graphiqlFiles } from '../gateway/graphql/graphiql.ts';
import { DEFAULT_LIMITS } from '../gateway/graphql/limits.ts';
import { createGraphqlServer } from '../gateway/graphql/server.ts';
import { consoleFiles, consolePage, embedScripts } from '../gateway/http/console-page.ts';
import { forOrigins } from '../gateway/http/cross-origin.ts';
import { addressOf, type RequestOrigin } from '../gateway/http/fetch-handler.ts';
import { Gateway } from '../gateway/http/gateway.ts';
import { isLocal, metricsEntry } from '../gateway/http/metrics-entry.ts';
import { SessionCookie } from '../gateway/http/session-cookie.ts';
import { RequestSignals } from '../gateway/request-signals.ts';
import { authorizeRoute } from '../gateway/rest/authorize.ts';
import { apiDocuments } from '../gateway/rest/docs/api-documents.ts';
import { createRestServer } from '../gateway/rest/router.ts';
import { SESSION_LIFETIME_MS } from '../platform/auth/sessions.ts';
import { BUILD } from '../platform/build.ts';
import type { Config } from '../platform/config/config.ts';
import { RequestRates } from '../platform/limits/request-rates.ts';
import { apiRoutes } from './api-routes.ts';
import { callerOf, contextMaker } from './context-maker.ts';
import { Metrics } from './metrics.ts';
import { asOperator } from './operator/as-operator.ts';
import type { Parts } from './parts.ts';
import type { Ports } from './ports.ts';
import type { Readiness } from './readiness.ts';
import { schema } from './schema.ts';

/** Shared by all services of the process. */
const DOCUMENTS = apiDocuments(apiRoutes, schema, BUILD);

/**
 * Everything that HTTP serves: the graph, REST, downloads, single sign-on of browsers, and metrics. With METRICS_HOST
 * the metrics are not part of the gateway.
 */
export function httpEntries(
  config: Config,
  parts: Parts & { readonly readiness: Readiness },
  { url, http: { connections }, traffic }: Ports,
  log: Logger,
) {
  const { services, storage, signIn, readiness } = parts;
  const oidcSignIn = signIn.oidcSignIn(url);
  const { trustProxy, publicUrl } = config;
  const hasProxy = trustProxy || publicUrl !== undefined;
  const rates = new RequestRates({
    requests: config.rateRequests,
    requestBytes: config.rateRequestBytes,
    subscriptions: config.rateSubscriptions,
    log,
  });
  const cookie = new SessionCookie({ publicUrl, port: config.port, maxAge: SESSION_LIFETIME_MS / 1_000 });
  const signals = new RequestSignals({ log, slowMs: config.slowOperationMs });
  const contextFor = contextMaker(services, storage.db, { trustProxy, rates, cookie });
  const restContextFor = contextMaker(services, storage.db, { trustProxy, rates, cookie, via: 'REST' });
  const graphql = createGraphqlServer({
    schema,
    contextFor,
    log: signals.graphql,
    limits: { ...DEFAULT_LIMITS, cost: config.maxQueryCost, depth: config.maxQueryDepth },
    preparationMsPerSecond: config.queryPreparationMs,
    introspection: config.introspection,
    onIntrospectionRefused: (context, error) =>
      services.audit.refusedRead({ operation: '__schema', input: {} }, context, error),
    maxBodyBytes: config.maxBodyBytes,
    corsOrigins: config.corsOrigins,
    traffic,
    rates,
  });
  const rest = createRestServer({
    routes: apiRoutes,
    schema,
    contextFor: restContextFor,
    authorize: authorizeRoute,
    onRefused: ({ name: operation, isMutation, input }, context, error) =>
      isMutation
        ? services.audit.refused(operation, input, context, error)
        : services.audit.refusedRead({ operation, input }, context, error),
    log: signals.rest,
    maxBodyBytes: config.maxBodyBytes,
    tokenInQuery: config.tokenInQuery,
    documents: DOCUMENTS,
    onBody: (context, bytes) => rates.body(context, bytes),
    traffic,
  });
  const metrics = new Metrics({
    build: BUILD,
    parts,
    http: { traffic, connections },
    webSockets: () => graphql.webSocketCount,
    signals,
  });
  const callerAddress = (request: Request, origin: RequestOrigin) =>
    callerOf(request.headers.get('x-forwarded-for'), addressOf(origin), trustProxy);
  const scrape = metricsEntry({
    metrics,
    token: config.metricsToken ?? null,
    // The listener of METRICS_HOST needs no credentials.
    // A proxy on this machine sends requests of other machines, and by default nginx adds no header.
    isOpenFor: config.metricsHost !== undefined ? () => true : hasProxy ? () => false : isLocal,
    viewerOf: (request, origin) =>
      services.auth.viewerOf(request.headers.get('authorization') ?? undefined, callerAddress(request, origin)),
  });
  const embedFiles = forOrigins(config.corsOrigins, 'GET, HEAD', embedScripts);
  const gateway = new Gateway({
    graphql,
    paths: new Map([
      ['/', consolePage()],
      ['/embed.js', embedFiles],
      [AUDIT_PATH, auditDownload({ contextFor: restContextFor, log })],
      [SESSION_PATH, sessionEntry({ schema, cookie, contextFor, traffic, log })],
    ]),
    ...(oidcSignIn && { auth: oidcEntries({ signIn: oidcSignIn, addressOf: callerAddress, log }) }),
    folders: new Map([
      ['/console/', consoleFiles],
      ['/embed/', embedFiles],
      ['/graphiql/', graphiqlFiles],
    ]),
    rest: forOrigins(config.corsOrigins, 'GET, HEAD, POST, PUT, DELETE', rest),
    metrics,
    compression: traffic.compression,
    ...(config.metricsHost === undefined && { metricsEntry: scrape }),
    whyNotReady: readiness.whyNot,
    readyFields: () => ({ connectedBrokers: services.runtimes.connectedShare() }),
  });
  return { gateway, scrape, graphql, runAsOperator: asOperator(storage.db, services) };
}
