import {
  absolutePath,
  atLeast,
  databaseUrl,
  email,
  flag,
  hostName,
  hostNames,
  hosts,
  integer,
  issuer,
  ldapFilter,
  ldapUrl,
  listenAddress,
  oneOf,
  optional,
  origins,
  orOff,
  type Parse,
  port,
  scopes,
  smtpUrl,
  text,
  webAddress,
  webAddresses,
} from './setting-values.ts';

interface SettingRow {
  /** Default value as text. Absent: unset. */
  readonly fallback?: string;
  /** Shown in `--help` and in docs/configuration.md. */
  readonly help: string;
  readonly parse: Parse<unknown>;
  /** Shown instead of the fallback. */
  readonly shownDefault?: string;
  readonly secret?: true;
}

/** Adds the environment variable of each setting: MQTT_PORT for `mqttPort`. Only settings are read from it. */
const settings = <Rows extends Readonly<Record<string, SettingRow>>>(rows: Rows) =>
  Object.fromEntries(
    Object.entries(rows).map(([name, row]) => {
      const env = name.replace(/[A-Z]/g, '_$&').toUpperCase();
      return [name, { fallback: '', ...row, env }];
    }),
  ) as {
    readonly [Key in keyof Rows]: Rows[Key] &
      Omit<SettingRow, 'parse'> & { readonly env: string; readonly fallback: string };
  };

export const SETTINGS = settings({
  host: { fallback: '127.0.0.1', parse: text, help: 'Address that the HTTP server listens on' },
  port: { fallback: '4000', parse: port, help: 'Port that the HTTP server listens on; 0 uses a free port' },
  dataDir: {
    fallback: './data',
    parse: text,
    help: 'Folder of the embedded database, the embedded brokers and the keys; created with mode 0700, and a wider mode is corrected at start',
  },
  minFreeMb: {
    fallback: '100',
    parse: integer(0, 1_000_000_000),
    help: 'Free space of DATA_DIR in MB below which /readyz responds with 503; the log has a warning below twice as much; 0: never',
  },
  databaseUrl: {
    shownDefault: 'SQLite in DATA_DIR',
    parse: optional(databaseUrl),
    help: 'postgresql://… for production and for several processes',
    secret: true,
  },
  role: {
    fallback: 'all',
    parse: oneOf('all', 'api', 'worker'),
    help: 'What this process does with several processes on PostgreSQL: api (requests of clients), worker (streams, bridges and topics of brokers, besides health and metrics) or all',
  },
  embeddedBroker: {
    fallback: 'on',
    parse: flag,
    help: 'Whether the brokers run by this service are started, and whether the first start creates one',
  },
  mqttHost: { fallback: '127.0.0.1', parse: text, help: 'Address that the brokers run by this service listen on' },
  mqttAdvertisedHost: {
    shownDefault: 'MQTT_HOST, or the loopback address if MQTT_HOST is 0.0.0.0 or ::',
    parse: optional(hostName),
    help: 'Name or address of this machine in the URLs of the brokers that this process runs; with processes on several machines, others must reach the brokers there',
  },
  mqttPort: {
    fallback: '1883',
    parse: port,
    help: 'Port that the first broker is created with and retains; if it is in use then, a free port; 0 uses any free port; the mutation updateListener changes it',
  },
  mqttWsPort: { fallback: '9001', parse: port, help: 'The same for MQTT over WebSocket' },
  mqttTlsPort: {
    fallback: '8883',
    parse: orOff(port),
    help: 'The same for MQTT over TLS, which requires a deployed certificate; off: no such listener',
  },
  mqttWssPort: { fallback: 'off', parse: orOff(port), help: 'The same for MQTT over WebSocket with TLS' },
  maxCloudBrokers: { fallback: '20', parse: integer(1, 1_000), help: 'Maximum number of brokers run by all processes' },
  maxCloudBrokersPerProject: {
    fallback: '5',
    parse: integer(0, 10_000),
    help: 'Maximum number of brokers of one project that are run by this service; root administrators may create more, up to MAX_CLOUD_BROKERS',
  },
  mosquittoBinary: {
    shownDefault: 'mosquitto in PATH or /usr/sbin',
    parse: optional(text),
    help: 'Program that runs the brokers with the engine mosquitto',
  },
  mosquittoDynsecPlugin: {
    shownDefault: 'the one installed with the program',
    parse: optional(absolutePath),
    help: 'Absolute path of the dynamic security plugin of Mosquitto, of the same version as the program',
  },
  rootEmail: {
    fallback: 'admin@localhost',
    parse: email,
    help: 'E-mail address of the first root administrator; only used if there is no root administrator yet',
  },
  localLogin: {
    fallback: 'on',
    parse: flag,
    help: 'Whether users sign in with a password of this service; off: only the root administrator ROOT_EMAIL does, all others use single sign-on or LDAP',
  },
  strictRoles: {
    fallback: 'off',
    parse: flag,
    help: 'Whether new projects have strict roles: changing the data of a broker then requires the role EDITOR instead of VIEWER',
  },
  rootPassword: {
    shownDefault: 'generated, shown once',
    parse: optional(atLeast(8)),
    help: 'Password of the first root administrator',
    secret: true,
  },
  publicUrl: {
    shownDefault: 'http://HOST:PORT',
    parse: optional(webAddress),
    help: 'URL of this service as seen by browsers, for example behind a proxy; used for single sign-on, and its host name is accepted in Host headers',
  },
  allowedHosts: {
    shownDefault: 'PUBLIC_URL, HOST, localhost, the name of this machine and IP addresses',
    parse: hostNames,
    help: 'Comma-separated additional host names that are accepted in Host headers; *.example.com accepts all names below it, * accepts any name',
  },
  oidcIssuer: {
    shownDefault: 'no OpenID Connect',
    parse: optional(issuer),
    help: 'URL of the OpenID Connect provider that users sign in with; https, except for a provider on this machine',
  },
  oidcClientId: {
    shownDefault: 'none',
    parse: optional(text),
    help: 'Client id of this service at the provider, which must allow PUBLIC_URL/auth/oidc/callback as redirect URL',
  },
  oidcClientSecret: {
    shownDefault: 'none',
    parse: optional(text),
    help: 'Client secret of this service at the provider; none: a public client',
    secret: true,
  },
  oidcScopes: {
    fallback: 'openid profile email',
    parse: scopes,
    help: 'Requested scopes; some providers require offline_access to check users again later',
  },
  oidcGroupsClaim: { fallback: 'groups', parse: text, help: 'Claim that contains the groups of the user' },
  oidcEmailClaim: {
    fallback: 'email',
    parse: text,
    help: 'Claim that contains the e-mail address. Another one than email, such as upn, needs OIDC_TRUST_EMAIL',
  },
  oidcTrustEmail: {
    fallback: 'off',
    parse: flag,
    help: 'Whether e-mail addresses count as verified if the provider does not send email_verified',
  },
  signInReturnTo: {
    shownDefault: 'only this service',
    parse: webAddresses,
    help: 'Comma-separated URLs that browsers may return to after a sign-in, including paths below them',
  },
  signInCreateUsers: {
    fallback: 'on',
    parse: flag,
    help: 'Whether an account is created when a user signs in with OpenID Connect or LDAP for the first time',
  },
  signInCheckMinutes: {
    fallback: '5',
    parse: integer(1, 720),
    help: 'Interval in minutes at which users with sessions are checked again at the provider or directory they signed in with',
  },
  ldapUrl: {
    shownDefault: 'no LDAP',
    parse: optional(ldapUrl),
    help: 'LDAP directory that users sign in with: ldaps://… or ldap://…',
  },
  ldapStartTls: {
    fallback: 'on',
    parse: flag,
    help: 'Whether ldap:// connections use StartTLS; off sends passwords unencrypted',
  },
  ldapCaFile: {
    shownDefault: 'the authorities known to Node',
    parse: optional(absolutePath),
    help: 'PEM file of the certificate authorities that may sign the certificate of the directory',
  },
  ldapBindDn: {
    shownDefault: 'anonymous search',
    parse: optional(text),
    help: 'DN of the account that searches the directory',
  },
  ldapBindPassword: { shownDefault: 'none', parse: optional(text), help: 'Password of LDAP_BIND_DN', secret: true },
  ldapUserBase: {
    shownDefault: 'none',
    parse: optional(text),
    help: 'Base DN of the search for users, such as ou=people,dc=example,dc=com',
  },
  ldapUserFilter: {
    fallback: '(mail={login})',
    parse: ldapFilter('{login}'),
    help: 'Filter that finds the user by the entered {login}; users that it does not find cannot sign in and lose their sessions',
  },
  ldapGroupBase: { shownDefault: 'no groups', parse: optional(text), help: 'Base DN of the search for groups' },
  ldapGroupFilter: {
    fallback: '(member={dn})',
    parse: ldapFilter('{'),
    help: 'Filter that finds the groups of a user by {dn} or {login}',
  },
  secretKey: {
    shownDefault: 'generated in DATA_DIR',
    parse: optional(atLeast(32)),
    help: 'Key that encrypts stored secrets; at least 32 characters, the same for all processes',
    secret: true,
  },
  secretKeyPrevious: {
    shownDefault: 'none',
    parse: optional(atLeast(32)),
    help: 'Additional key that stored secrets are decrypted with while SECRET_KEY is being replaced',
    secret: true,
  },
  brokerTimeoutMs: {
    fallback: '5000',
    parse: integer(100, 600_000),
    help: 'Longest wait for the response of a broker, in milliseconds',
  },
  maxBrokerLinks: {
    fallback: '1000',
    parse: integer(1, 100_000),
    help: 'Maximum number of brokers that each process connects to at the same time; beyond it project owners, and their projects, have equal shares',
  },
  maxConnectionAttempts: {
    fallback: '32',
    parse: integer(4, 10_000),
    help: 'Maximum number of connections to brokers that each process opens at the same time, for all purposes; the others wait',
  },
  maxBrokersPerProject: {
    fallback: '1000',
    parse: integer(1, 100_000),
    help: 'Maximum number of brokers of one project',
  },
  maxProjectsPerUser: {
    fallback: '100',
    parse: integer(1, 100_000),
    help: 'Maximum number of projects that a user may create, including projects of own organizations, and maximum number of organizations; root administrators have no limit',
  },
  brokerFilesDir: {
    shownDefault: 'no files allowed',
    parse: optional(absolutePath),
    help: 'Folder that contains the certificate and key files that broker settings may name',
  },
  brokerAllowedHosts: {
    shownDefault: 'every external host',
    parse: hosts,
    help: 'Comma-separated host names, addresses and networks (10.0.0.0/8) that brokers and bridges may connect to, also checked after DNS resolution. By default every host except this machine, its link-local network and metadata services, which only root administrators may use; * stands for this default next to other entries',
  },
  maxBodyBytes: {
    fallback: '1000000',
    parse: integer(1_000, 100_000_000),
    help: 'Maximum size of a request body in bytes',
  },
  maxConnections: {
    fallback: '10000',
    parse: integer(1, 1_000_000),
    help: 'Maximum number of HTTP connections of each process, including WebSockets and event streams; beyond it idle connections are closed, then new ones refused',
  },
  maxConnectionsPerNetwork: {
    fallback: '1000',
    parse: integer(1, 1_000_000),
    help: 'The same for one IPv4 address or IPv6 network (/64); with TRUST_PROXY=on, the number of requests in progress of one network',
  },
  maxRequestsMb: {
    fallback: '64',
    parse: integer(1, 100_000),
    help: 'Maximum size of all request bodies and WebSocket messages that each process receives or processes, in MB of 1,048,576 bytes; one network may use half',
  },
  maxResponsesMb: {
    fallback: '128',
    parse: integer(1, 100_000),
    help: 'Maximum size of all responses of each process that clients have not received yet, in MB of 1,048,576 bytes; beyond it connections are closed',
  },
  rateRequests: {
    fallback: '1000',
    parse: orOff(integer(1, 1_000_000)),
    help: 'Requests per second that each process accepts from one user or token, or from one network without credentials, including operations over WebSockets; bursts of ten times as many are allowed; off: no limit',
  },
  rateRequestBytes: {
    fallback: '20000000',
    parse: orOff(integer(10_000, 10_000_000_000)),
    help: 'The same for bytes of request bodies and WebSocket messages',
  },
  rateSubscriptions: { fallback: '1000', parse: orOff(integer(1, 1_000_000)), help: 'The same for new subscriptions' },
  metricsToken: {
    shownDefault: 'only callers on this machine read /metrics, and none of them with TRUST_PROXY or PUBLIC_URL',
    parse: optional(atLeast(16)),
    help: 'Bearer token that /metrics requires, at least 16 characters; tokens of root administrators are also accepted',
    secret: true,
  },
  metricsHost: {
    shownDefault: 'HOST and PORT serve /metrics',
    parse: optional(listenAddress),
    help: 'Address and port, such as 10.0.0.5:9100, of a separate listener for /metrics, which requires no token unless METRICS_TOKEN is set',
  },
  streamStorageMaxMb: {
    fallback: '10240',
    parse: integer(1, 1_000_000_000),
    help: 'Maximum size of the stream messages of one broker, on disk or in PostgreSQL, in MB of 1,048,576 bytes; further messages are not stored',
  },
  bridgeStorageMaxMb: {
    fallback: '10240',
    parse: integer(16, 1_000_000_000),
    help: 'Maximum size of the queues of all bridges of each process, on disk or in PostgreSQL, in MB of 1,048,576 bytes; the queues of one broker may use a quarter. Further messages are dropped and counted',
  },
  topicTreeMaxMb: {
    fallback: '512',
    parse: integer(1, 1_000_000),
    help: 'Maximum size of the recorded topics of one broker in memory, in MB of 1,048,576 bytes; further topics are not recorded',
  },
  historyDays: {
    fallback: '30',
    parse: integer(1, 3_650),
    help: 'Days after which the history of brokers is deleted',
  },
  historyMaxMb: {
    fallback: '2048',
    parse: integer(16, 1_000_000_000),
    help: 'Maximum size of the history of all brokers, in its file or in PostgreSQL, in MB of 1,048,576 bytes; beyond it the oldest part is deleted',
  },
  maxQueryCost: {
    fallback: '50000',
    parse: integer(100, 10_000_000),
    help: 'Maximum cost of a GraphQL document: the number of fields, multiplied by the sizes of the lists that contain them',
  },
  maxQueryDepth: { fallback: '15', parse: integer(5, 100), help: 'Maximum nesting depth of a GraphQL document' },
  queryPreparationMs: {
    fallback: '250',
    parse: integer(10, 1_000_000),
    help: 'Milliseconds per second that one caller may use in each process for parsing, validating and compiling new GraphQL documents; bursts of 20 seconds of it are allowed',
  },
  introspection: {
    fallback: 'signed-in',
    parse: oneOf('signed-in', 'always'),
    help: 'Who may read the GraphQL schema: signed-in (signed-in callers) or always (all callers)',
  },
  corsOrigins: {
    shownDefault: 'none',
    parse: origins,
    help: 'Comma-separated origins of web pages that may call this service',
  },
  tokenInQuery: {
    fallback: 'off',
    parse: flag,
    help: 'Whether ?token=… is accepted in addition to the Authorization header; query strings appear in access logs',
  },
  trustProxy: {
    fallback: 'off',
    parse: flag,
    help: 'Whether the address of callers is read from X-Forwarded-For; only behind a proxy that sets it',
  },
  shutdownDelayMs: {
    fallback: '0',
    parse: integer(0, 300_000),
    help: 'How long SIGTERM delays the shutdown, in milliseconds; requests are served meanwhile, and /readyz responds with 503, so that a load balancer stops sending them',
  },
  smtpUrl: {
    shownDefault: 'no e-mail',
    parse: optional(smtpUrl),
    help: 'SMTP server that sends the e-mail of notification channels: smtp://user:password@host:587 (with STARTTLS) or smtps://…; ?tls=off sends unencrypted',
    secret: true,
  },
  mailFrom: {
    fallback: 'brokergraph@localhost',
    parse: email,
    help: 'E-mail address of the sender',
  },
  auditRetentionDays: {
    fallback: '365',
    parse: integer(0, 36_500),
    help: 'Days after which audit entries are deleted; 0: never',
  },
  problemRetentionDays: {
    fallback: '30',
    parse: integer(1, 3_650),
    help: 'Days after which closed problems are deleted; beyond 10,000 closed problems, those that closed first are deleted earlier',
  },
  slowOperationMs: {
    fallback: '2000',
    parse: orOff(integer(1, 600_000)),
    help: 'Milliseconds after which an operation of the graph or of REST is a warning in the log, with its name and its caller; off: never',
  },
  logLevel: {
    fallback: 'info',
    parse: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    help: 'fatal, error, warn, info, debug, trace or silent',
  },
  logFormat: {
    shownDefault: 'pretty on a terminal, else json',
    parse: optional(oneOf('pretty', 'json')),
    help: 'pretty or json',
  },
});
