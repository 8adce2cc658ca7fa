import type { InputIssue } from '../../../platform/errors.ts';
import { nodeHttp } from '../../../platform/network/node-http.ts';
import { pointerStep } from '../../../platform/text/json-schema.ts';
import type { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';
import {
  type BridgeKind,
  type BridgeRules,
  configSchema,
  hostsOf,
  hrefOf,
  integerSchema,
  type JsonSchema,
  textSchema,
} from '../model/bridge-kind.ts';
import type { BatchBounds } from '../sink/sink.ts';
import { filterIssues, hostIssues, nameIssues } from '../sink/sink-issues.ts';
import { activeSchema, batchSchema, filtersSchema, nameSchema, qosSchema, queueSchema } from '../sink/sink-schema.ts';
import { tlsMaterialIssues, tlsProperties } from '../sink/tls-material.ts';
import { TIMEOUT_MS, type WebhookBridgeConfig, type WebhookConnectionConfig } from './webhook-config.ts';
import { secretProblem } from './webhook-signature.ts';

export const WEBHOOK_BATCH: BatchBounds = { maxMessages: 100, maxBytes: 1_048_576, maxDelayMs: 200 };

const connectionSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'url', 'secret', 'topics'],
  description: 'One endpoint with one queue. Batches are sent in the order of the messages, one request at a time.',
  properties: {
    name: nameSchema,
    active: activeSchema,
    url: textSchema('The http or https URL that batches are sent to by POST. Redirects are not followed.', {
      minLength: 1,
      maxLength: 2_000,
    }),
    secret: textSchema(
      'Signs the requests by Standard Webhooks: whsec_ and 24 to 64 bytes in base64. Several secrets, separated by spaces, sign each ' +
        'request, so that receivers can rotate theirs.',
      { maxLength: 2_000, writeOnly: true },
    ),
    headers: {
      type: 'object',
      maxProperties: 50,
      additionalProperties: textSchema('Value of the header.', { maxLength: 8_192 }),
      writeOnly: true,
      description: 'Further headers of each request, such as Authorization.',
    },
    ...tlsProperties,
    topics: filtersSchema,
    qos: qosSchema,
    payload: {
      enum: ['text', 'json', 'base64'],
      default: 'text',
      description:
        'The format of payloads. text: "payload" if it is UTF-8, otherwise "payloadBase64"; json: "json", the value, if it is JSON, ' +
        'otherwise as with text; base64: always "payloadBase64".',
    },
    timeoutMs: integerSchema('Timeout for a response, in milliseconds.', [100, 600_000], TIMEOUT_MS),
    batch: batchSchema(WEBHOOK_BATCH, 10_000),
    queue: queueSchema,
  },
};

export const webhookBridgeKind: BridgeKind = {
  id: 'webhook-bridge',
  api: 'cedalo/webhook-bridge',
  name: 'Webhook bridge',
  schema: configSchema(
    'Webhook bridge',
    {
      whole: 'Sends messages to HTTP endpoints, in batches that are signed by Standard Webhooks.',
      connections: 'Endpoints.',
    },
    connectionSchema,
  ),
  empty: { connections: [] } satisfies WebhookBridgeConfig,
  addressOf: (connection) => hrefOf((connection as WebhookConnectionConfig).url),
  check: (config, rules) => {
    const { connections } = config as WebhookBridgeConfig;
    return [
      ...nameIssues(connections),
      ...connections.flatMap((connection, index) =>
        connectionIssues(connection, rules).map((issue) => ({ ...issue, path: `/connections/${index}${issue.path}` })),
      ),
    ];
  },
};

function connectionIssues(connection: WebhookConnectionConfig, rules: BridgeRules): InputIssue[] {
  const { url, secret, headers = {}, topics } = connection;
  const problem = secretProblem(secret);
  return [
    ...urlIssues(url, hostsOf(rules, connection)),
    ...tlsIssues(connection),
    ...(problem === null ? [] : [{ path: '/secret', reason: problem }]),
    ...headerIssues(headers),
    ...filterIssues(topics, '/topics'),
  ];
}

/** Issues of a URL that requests are sent to, at `/url`. */
export function urlIssues(text: string, hosts: AllowedHosts): InputIssue[] {
  const refused = (reason: string) => [{ path: '/url', reason }];
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return refused('must be a URL such as https://host/path');
  if (url.username !== '' || url.password !== '') return refused('must not hold credentials; use headers');
  if (url.hash !== '') return refused('must not have a fragment');
  return hostIssues(url.hostname, '/url', hosts);
}

/** Plain HTTP verifies no certificate. */
function tlsIssues(connection: WebhookConnectionConfig): InputIssue[] {
  if (!/^http:/i.test(connection.url)) return tlsMaterialIssues(connection);
  return (['ca', 'cert', 'key'] as const)
    .filter((name) => connection[name] !== undefined)
    .map((name) => ({ path: `/${name}`, reason: 'needs a "url" with https' }));
}

/** Set by the bridge itself, or by HTTP. */
const RESERVED =
  /^(webhook-.*|content-type|content-length|content-encoding|transfer-encoding|host|connection|keep-alive|upgrade|expect|te|trailer)$/i;

/** Issues of further headers of a request, at `/headers/<name>`. */
export function headerIssues(headers: Readonly<Record<string, string>>): InputIssue[] {
  const seen = new Set<string>();
  return Object.entries(headers).flatMap(([name, value]) => {
    const path = `/headers/${pointerStep(name)}`;
    const isTwice = seen.has(name.toLowerCase());
    seen.add(name.toLowerCase());
    if (isTwice) return [{ path, reason: 'is there twice' }];
    if (RESERVED.test(name)) return [{ path, reason: 'is set by the service itself' }];
    try {
      nodeHttp.validateHeaderName(name);
      nodeHttp.validateHeaderValue(name, value);
      return [];
    } catch {
      return [{ path, reason: 'must be a header that HTTP can carry' }];
    }
  });
}
