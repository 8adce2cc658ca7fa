import { readFileSync } from 'node:fs';

/** Where the number of a row without a setting is defined: a constant, or a field of an object, in a file of `src`. */
export const CONSTANTS: Readonly<Record<string, readonly [file: string, name: string]>> = {
  'Connections to the listener of `METRICS_HOST`': ['app/ports.ts', 'MAX_METRICS_CONNECTIONS'],
  'Time for the headers of a request': ['gateway/http/http-server.ts', 'headersTimeout'],
  'Chunks of a request body that may have any size': ['platform/network/http-bounds.ts', 'FREE_PIECES'],
  'Expected wait of a network without credentials until the operations of all such networks, and its own, that came before have started':
    ['platform/limits/operation-starts.ts', 'MAX_WAIT_MS'],
  'Addresses that credentials came from, in memory': ['platform/limits/operation-starts.ts', 'MAX_KNOWN'],
  'Of them, addresses that the credentials of one user or token came from': [
    'platform/limits/operation-starts.ts',
    'MAX_KNOWN_OF_ACCOUNT',
  ],
  'Bytes of values in the audit entries of one caller, per minute': [
    'domains/audit/audit-service.ts',
    'BYTES_PER_MINUTE',
  ],
  'Time that a broker or a bridge must be connected to count as back in the log': ['platform/outages.ts', 'STEADY_MS'],
  'Results of introspections that are kept': ['gateway/graphql/operations.ts', 'MAX_INTROSPECTIONS'],
  'History that waits to be written': ['data-plane/history/hosting/history-thread.ts', 'QUEUE_BYTES'],
  'Time for a whole request': ['gateway/http/http-server.ts', 'requestTimeout'],
  'Time for `connection_init` of a WebSocket': ['gateway/graphql/live/web-socket-connection.ts', 'INIT_TIMEOUT_MS'],
  'Queued requests of one connection (pipelining)': ['gateway/http/pipelined-requests.ts', 'MAX_WAITING'],
  'Time without progress in sending a response': ['gateway/http/connections.ts', 'STALLED_MS'],
  'Request body, or WebSocket message, without valid credentials': [
    'gateway/http/traffic.ts',
    'MAX_ANONYMOUS_BODY_BYTES',
  ],
  'One response, message or event': ['gateway/graphql/response-limit.ts', 'MAX_RESPONSE_BYTES'],
  'Responses of more than 16 KiB that are compressed at the same time': [
    'gateway/http/compression.ts',
    'MAX_CONCURRENT',
  ],
  'Responses in pieces that are compressed at the same time': ['gateway/http/compression.ts', 'MAX_STREAMS'],
  'Tokens of a GraphQL document': ['gateway/graphql/limits.ts', 'tokens'],
  'Aliases of a document': ['gateway/graphql/limits.ts', 'aliases'],
  'Root fields of a document': ['gateway/graphql/limits.ts', 'rootFields'],
  'Directives of a document': ['gateway/graphql/limits.ts', 'directives'],
  'Fields with the same response key in one selection set': ['gateway/graphql/limits.ts', 'sameKey'],
  'Fields of a document that repeat a response key of their selection set': ['gateway/graphql/limits.ts', 'repeats'],
  'Entries of lists and objects in the variables': ['gateway/graphql/variables.ts', 'MAX_ENTRIES'],
  'Numbers of a JSON text such as `21.20`, which JavaScript would round or write otherwise': [
    'platform/text/exact-json.ts',
    'MAX_EXACT',
  ],
  'Characters of these numbers': ['platform/text/exact-json.ts', 'MAX_EXACT_CHARACTERS'],
  'Open problems of all projects': ['domains/problems/problem-watch.ts', 'MAX_OPEN'],
  'Silences of a project': ['domains/problems/storage/problem-silences.ts', 'MAX_SILENCES'],
  'Ids of a condition of a list of problems': ['domains/problems/model/problem-filter.ts', 'MAX_FILTER_IDS'],
  'Waiting readings of stored metrics of one caller; callers have equal turns': [
    'domains/history/metrics/metrics-history.ts',
    'MAX_WAITING',
  ],
  'Events that a page of events of clients searches': [
    'data-plane/history/client-events/event-pages.ts',
    'MAX_SEARCHED',
  ],
  'Bytes of log lines that wait for the version of their broker': [
    'domains/clients/inspect/early-lines.ts',
    'MAX_BYTES',
  ],
  'Levels of the topic of `explainAccess` and `whoCan`': ['protocol/mqtt/topics.ts', 'MAX_TOPIC_LEVELS'],
  'Roles that `explainAccess` adds or removes': ['domains/access-control/explain/access-explainer.ts', 'MAX_ROLES'],
  'Characters of the path of a message that passed MQTT bridges': ['data-plane/bridges/mqtt/bridge-path.ts', 'LONGEST'],
  'Notification channels of a project, and of the service itself': [
    'domains/notifications/channels/channel-service.ts',
    'MAX_CHANNELS',
  ],
  'Tests of notification channels by one caller, per minute': ['platform/limits/test-limit.ts', 'TESTS_PER_MINUTE'],
  'Tests of connections to brokers and of bridges by one caller, per minute': [
    'platform/limits/test-limit.ts',
    'TESTS_PER_MINUTE',
  ],
  'Messages of a notification channel that wait': ['domains/notifications/delivery/delivery-former.ts', 'MAX_PENDING'],
  'Time for one attempt of a notification': ['domains/notifications/senders/sender.ts', 'ATTEMPT_MS'],
  'Characters of a notification made by a template or a subscription': [
    'domains/notifications/channels/body-template.ts',
    'MAX_BODY',
  ],
  'Nesting depth of variables and REST bodies': ['gateway/graphql/variables.ts', 'MAX_DEPTH'],
  'Reported errors of the variables of one operation': ['gateway/graphql/variables.ts', 'MAX_ERRORS'],
  'Reported issues of one error': ['platform/errors.ts', 'MAX_ISSUES'],
  'Entries of nested lists in one run of an operation': ['gateway/graphql/walk-limit.ts', 'MAX_WALK'],
  'Characters processed by the previews of one request': ['gateway/graphql/walk-limit.ts', 'MAX_CHARACTERS'],
  'Sample messages of one preview': ['data-plane/streams/query/preview-query.ts', 'samples'],
  'Different combinations of conditions of `connectedClients` subscriptions, per broker': [
    'domains/clients/inspect/client-feeds.ts',
    'MAX_SELECTIONS',
  ],
  'Listed subscriptions of one client of a plain Mosquitto': ['protocol/apis/clients/unknown-fields.ts', 'MAX_LISTED'],
  'Counted subscriptions of one client of a plain Mosquitto beyond these': [
    'protocol/apis/clients/unknown-fields.ts',
    'MAX_COUNTED',
  ],
  'Bytes of the subscriptions of all clients of one plain Mosquitto': [
    'domains/clients/inspect/client-ledger.ts',
    'MAX_SUBSCRIPTION_BYTES',
  ],
  'Stored sessions of one plain Mosquitto whose clients are not connected': [
    'domains/clients/inspect/client-ledger.ts',
    'MAX_OFFLINE',
  ],
  'Client ids in a `connectedClients` subscription': ['domains/clients/client-selection.ts', 'MAX_CLIENT_IDS'],
  'Different filters of subscriptions to the audit, per process': ['domains/audit/audit-tails.ts', 'MAX_TAILS'],
  'Concurrent subscriptions of one user or token': ['platform/auth/rights-guards.ts', 'MAX_GUARDS'],
  'Unsent bytes of one WebSocket above which it is not read': [
    'gateway/graphql/live/web-socket-flow.ts',
    'MAX_UNSENT_BYTES',
  ],
  'Queued events of one subscriber': ['gateway/live/subscriber.ts', 'DEFAULT_LIMIT'],
  'Wrong passwords of one account from one network': ['platform/auth/login-throttle.ts', 'FREE_FAILURES'],
  'Wrong passwords of one network at all accounts': ['platform/auth/login-throttle.ts', 'FREE_FAILURES_OF_NETWORK'],
  'Wrong passwords of one account from all unknown networks': [
    'platform/auth/login-throttle.ts',
    'FREE_FAILURES_OF_ACCOUNT',
  ],
  'Counts of wrong passwords: in the memory of one process, or in the database of several processes': [
    'platform/auth/login-failures.ts',
    'MAX_ROWS',
  ],
  'Refused attempts of one caller with separate audit entries': ['domains/audit/refused-attempts.ts', 'SINGLE'],
  'Audit entries queued while the database is not writable': ['domains/audit/audit-log.ts', 'MAX_WAITING'],
  'Tokens of one project': ['domains/tokens/token-service.ts', 'MAX_TOKENS'],
  'Certificates of one project': ['domains/certificates/certificate-service.ts', 'MAX_CERTIFICATES'],
  'Sign-in rules of one project': ['domains/sign-in/rules/sign-in-rule-service.ts', 'MAX_RULES'],
  'Incomplete packets of all links to brokers': ['protocol/mqtt/reading-limits.ts', 'MAX_BYTES'],
  'Packet from a broker to a link that observes messages': ['protocol/mqtt/packet-limits.ts', 'packet'],
  'Message from a PostgreSQL server to a bridge': [
    'data-plane/bridges/postgresql/message-bounds.ts',
    'MAX_MESSAGE_BYTES',
  ],
  'Messages from a PostgreSQL server to a bridge, per second; each counts as 256 bytes more': [
    'data-plane/bridges/postgresql/message-bounds.ts',
    'BYTES_PER_SECOND',
  ],
  'Result of a query of a bridge to a PostgreSQL server; each message counts as 256 bytes more, errors and notices do not count':
    ['data-plane/bridges/postgresql/message-bounds.ts', 'MAX_RESULT_BYTES'],
  'Packet from a broker that is no PUBLISH, on each link': ['protocol/mqtt/packet-limits.ts', 'OTHER_PACKET'],
  'Control response from a broker': ['protocol/mqtt/packet-limits.ts', 'control'],
  'Packet from a broker to a bridge, a stream or a topic recorder': [
    'protocol/mqtt/packet-limits.ts',
    'MESSAGE_LINK_LIMITS.packet',
  ],
  'Unthrottled reading time of one link in the main thread, per second': [
    'protocol/mqtt/reading-time-limit.ts',
    'perSecond',
  ],
  'Unreadable stored records of a broker in quarantine': ['data-plane/broker/store/quarantine.ts', 'MAX_RECORDS'],
  'Faults of one stored session until it is quarantined': ['data-plane/broker/core/faults.ts', 'MAX_FAULTS'],
  'Known networks of one account': ['platform/auth/known-networks.ts', 'MAX_NETWORKS'],
  'Documents of one caller queued for preparation': ['gateway/graphql/preparation.ts', 'MAX_WAITING_PER_CALLER'],
  'Stored topics below `$SYS` of one broker': ['domains/brokers/sys-topics.ts', 'MAX_TOPICS'],
  'Stored payload of a `$SYS` topic': ['domains/brokers/sys-topics.ts', 'MAX_PAYLOAD'],
  'Message tails (live views of messages) of one broker': ['domains/messages/broker-tails.ts', 'MAX_TAILS'],
  'Bytes per second of one message tail': ['domains/messages/message-tail.ts', 'MAX_BYTES_PER_SECOND'],
  'Connections of one embedded broker': ['data-plane/broker/limits.ts', 'maxConnections'],
  'MQTT packet': ['data-plane/broker/limits.ts', 'maxPacketBytes'],
  'Bytes read from an MQTT client at once, except for one large packet': [
    'data-plane/broker/packets/packet-reader.ts',
    'MAX_READ_BYTES',
  ],
  'Stored messages of an MQTT publisher that are queued for delivery': [
    'data-plane/broker/delivery/delivery-scheduler.ts',
    'MAX_WAITING',
  ],
  'Bytes before a CONNECT is accepted': ['data-plane/broker/packets/packet-reader.ts', 'MAX_CONNECT_BYTES'],
  'Timeout for a CONNECT': ['data-plane/broker/limits.ts', 'connectTimeoutMs'],
  'Concurrent TLS handshakes of one listener': ['data-plane/broker/limits.ts', 'maxHandshakes'],
  'Levels of a rule of access control of an embedded broker': [
    'data-plane/broker/dynamic-security/role-commands.ts',
    'MAX_LEVELS',
  ],
  'Levels of an MQTT topic, filter or will': ['protocol/mqtt/topics.ts', 'MAX_TOPIC_LEVELS'],
  'Values of a message that a stream or a bridge reads as JSON': ['platform/text/json-bounds.ts', 'MAX_MESSAGE_VALUES'],
  'Levels of a value of a message that a stream or a PostgreSQL bridge copies': [
    'platform/text/json-depth.ts',
    'MAX_WRITTEN_LEVELS',
  ],
  'Values of a control response from a broker': ['platform/text/json-bounds.ts', 'MAX_VALUES'],
  'Values of a control request to an embedded broker': ['platform/text/json-bounds.ts', 'MAX_REQUEST_VALUES'],
  'Values of a control response or event that the service did not request': [
    'platform/text/json-bounds.ts',
    'MAX_UNREQUESTED_VALUES',
  ],
  'Shapes of the objects of a JSON text: different sequences of names with which an object begins': [
    'platform/text/json-bounds.ts',
    'MAX_SHAPES',
  ],
  'Levels of a control response from a broker, or of a control request': ['platform/text/json-bounds.ts', 'MAX_DEPTH'],
  'Topic filters of one SUBSCRIBE or UNSUBSCRIBE': ['data-plane/broker/packets/packet-rules.ts', 'MAX_FILTERS'],
  'User properties of one MQTT packet, or of a will': [
    'data-plane/broker/packets/property-rules.ts',
    'MAX_USER_PROPERTIES',
  ],
  'Topic filters of one MQTT client': ['data-plane/broker/limits.ts', 'maxFilters'],
  'Weight of the topic filters of one MQTT client: 1 for each level, 20 more for each level beyond the 16th, 3 more for each `+`, 1 for each 32 characters':
    ['data-plane/broker/limits.ts', 'maxFilterWeight'],
  'Weight of the topic filters of all MQTT clients and persistent sessions of a broker': [
    'data-plane/broker/limits.ts',
    'maxTotalFilterWeight',
  ],
  'Persistent MQTT sessions of a broker': ['data-plane/broker/limits.ts', 'maxSessions'],
  'Unsent bytes of one MQTT client': ['data-plane/broker/limits.ts', 'unsentBytes'],
  'Unsent bytes of all MQTT clients of a broker': ['data-plane/broker/limits.ts', 'unsentTotalBytes'],
  'Time without progress in sending to an MQTT client': ['data-plane/broker/limits.ts', 'drainTimeoutMs'],
  'Messages queued for a disconnected MQTT client': ['data-plane/broker/limits.ts', 'offlineMessages'],
  'Bytes queued for one MQTT session': ['data-plane/broker/limits.ts', 'sessionBytes'],
  'Bytes queued for all MQTT sessions': ['data-plane/broker/limits.ts', 'totalBytes'],
  'Retained messages of a broker without `$SYS`': ['data-plane/broker/limits.ts', 'retainedMessages'],
  'Topics, payloads and properties of the retained messages of a broker': [
    'data-plane/broker/limits.ts',
    'retainedBytes',
  ],
  'Unacknowledged messages of an MQTT client with a session while it gets retained messages': [
    'data-plane/broker/retained/retained-sender.ts',
    'MAX_UNACKNOWLEDGED',
  ],
  'SUBSCRIBE packets of one client with retained messages in delivery': [
    'data-plane/broker/retained/retained-delivery.ts',
    'MAX_WAITING',
  ],
  'Topic filters in these packets of one client': [
    'data-plane/broker/retained/retained-delivery.ts',
    'MAX_WAITING_FILTERS',
  ],
  'Topic filters in these packets of a client that must acknowledge messages before it gets more': [
    'data-plane/broker/retained/retained-delivery.ts',
    'MAX_UNREAD_FILTERS',
  ],
  'Topic filters in these packets of all clients': [
    'data-plane/broker/retained/retained-delivery.ts',
    'MAX_TOTAL_FILTERS',
  ],
  'Payloads of 16 KiB or more of retained messages that the sockets of all clients have not taken; each message counts once':
    ['data-plane/broker/limits.ts', 'unsentRetainedBytes'],
  'Persistent sessions that disconnected before their retained messages were queued': [
    'data-plane/broker/retained/retained-delivery.ts',
    'MAX_OFFLINE',
  ],
  'Different wrong MQTT passwords of one account from one network': [
    'data-plane/broker/dynamic-security/dynamic-security-access.ts',
    'FREE_OF_ACCOUNT',
  ],
  'Queued checks of different MQTT passwords of one account from one network': [
    'data-plane/broker/dynamic-security/password-check.ts',
    'MAX_PENDING_OF_ACCOUNT',
  ],
  'Throttled MQTT clients that wait for CONNACK': ['data-plane/broker/connecting/connect-handler.ts', 'MAX_DELAYED'],
  'Wrong MQTT passwords of one network': [
    'data-plane/broker/dynamic-security/dynamic-security-access.ts',
    'FREE_OF_NETWORK',
  ],
  'Retained messages of one reading': ['domains/messages/retained/retained-readings.ts', 'BOUNDS.messages'],
  'Bytes of one reading of retained messages': ['domains/messages/retained/retained-readings.ts', 'BOUNDS.bytes'],
  'Time of one reading of retained messages': ['domains/messages/retained/retained-readings.ts', 'BOUNDS.ms'],
  'Readings of retained messages at the same time': ['domains/messages/retained/retained-readings.ts', 'MAX_RUNNING'],
  'Waiting readings of retained messages of one broker': [
    'domains/messages/retained/retained-readings.ts',
    'MAX_WAITING',
  ],
  'Deletions of retained messages at the same time in one process; one for each broker in all processes (`IN_USE`)': [
    'domains/messages/retained/retained-deletions.ts',
    'MAX_RUNNING',
  ],
  'Topics of one deletion of retained messages': ['domains/messages/retained/deletion-entries.ts', 'MAX_TOPICS'],
  'Characters of the topics of one deletion of retained messages': [
    'domains/messages/retained/deletion-entries.ts',
    'MAX_CHARACTERS',
  ],
  'Bytes of the results of a deletion of retained messages in the database': [
    'domains/messages/retained/deletion-record.ts',
    'MAX_RESULT_BYTES',
  ],
  'Jobs of one broker in the database that have ended': ['domains/jobs/job-store.ts', 'MAX_ENDED'],
  'Messages in processing by streams': ['data-plane/streams/engine/backlog.ts', 'MAX_MESSAGES'],
  'Started sign-ins with a provider': ['domains/sign-in/sign-in-attempts.ts', 'MAX_ATTEMPTS'],
  'Bits of an RSA key: of a broker, a bridge or a listener, and of certificate authorities': [
    'protocol/certificates/weakness.ts',
    'MAX_RSA_BITS',
  ],
  'Bits of the public exponent of such a key': ['protocol/certificates/weakness.ts', 'MAX_EXPONENT_BITS'],
  'Response from an OpenID Connect provider': ['domains/sign-in/oidc/bounded-fetch.ts', 'MAX_RESPONSE_BYTES'],
  'Response from an LDAP directory': ['domains/sign-in/ldap/ldap-connection.ts', 'MAX_RESPONSE_BYTES'],
  'Read response of a webhook': ['data-plane/bridges/webhook/webhook-requests.ts', 'MAX_RESPONSE_BYTES'],
};

interface LimitRow {
  readonly what: string;
  readonly number: string;
  /** `–`: a constant. */
  readonly setting: string;
  readonly beyond: string;
}

/** The rows of the table below the heading "Limits". */
export function limitRows(security: string): LimitRow[] {
  const table = security.split('\n## Limits\n')[1]?.split('\n## ')[0] ?? '';
  return [...table.matchAll(/^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$/gm)]
    .map(([, what = '', number = '', setting = '', beyond = '']) => ({ what, number, setting, beyond }))
    .filter(({ what }) => what !== 'What' && what !== '---');
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  bytes: 1,
  MB: 1,
  ms: 1,
  s: 1_000,
  h: 3_600_000,
  KiB: 1_024,
  MiB: 1_048_576,
};

/** `64 KiB` in bytes, `20 s` in milliseconds; MB as the settings count them. */
export function amountOf(text: string): number {
  const [, digits = '', unit = ''] = /^([\d,]+)(?: (\w+))?$/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN);
}

/**
 * The value of `const NAME = …`, or of a field `name: …` (`OBJECT.name`: of that object), in a source file: sums and
 * products of numbers and of other constants of the file.
 */
export function constantOf([file, name]: readonly [file: string, name: string]): number {
  const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
  const amountAt = (path: string): number => {
    const [field = '', object] = path.split('.').reverse();
    const text = object === undefined ? source : (source.split(new RegExp(`const ${object}\\b`))[1] ?? '');
    const [, expression = ''] =
      new RegExp(`(?:const ${field}(?:: \\w+)? =|(?:^|[{,]) *${field}:) ([\\w *+]+?) *[;,}]`, 'm').exec(text) ?? [];
    const factor = (part: string) => (/^[\d_]+$/.test(part) ? Number(part.replaceAll('_', '')) : amountAt(part));
    const product = (part: string) => part.split('*').reduce((all, each) => all * factor(each.trim()), 1);
    return expression === '' ? Number.NaN : expression.split('+').reduce((sum, part) => sum + product(part), 0);
  };
  return amountAt(name);
}
