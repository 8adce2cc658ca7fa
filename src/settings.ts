import {
  absolutePath,
  atLeast,
  BadValue,
  databaseUrl,
  email,
  flag,
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
  redisUrl,
  text,
  webAddress,
  webAddresses,
} from './setting-values.ts';

/**
 * Every setting, one row each: the environment variable, its default as text, what it means (for --help and the README) and
 * how it is read. Nothing else reads the environment.
 */

export interface Setting<T> {
  readonly env: string;
  /** As text; '' means unset. */
  readonly fallback: string;
  readonly help: string;
  readonly parse: Parse<T>;
  /** What --help and the README say instead of the fallback. */
  readonly shownDefault?: string;
  /** Never shown. */
  readonly secret?: true;
}

const setting = <T>(row: Setting<T>): Setting<T> => row;

export const SETTINGS = {
  host: setting({ env: 'HOST', fallback: '127.0.0.1', parse: text, help: 'Address that HTTP listens on' }),
  port: setting({ env: 'PORT', fallback: '4000', parse: port, help: 'Port that HTTP listens on; 0 takes a free one' }),
  dataDir: setting({
    env: 'DATA_DIR',
    fallback: './data',
    parse: text,
    help: 'Folder of the embedded database, embedded brokers and keys; created with mode 0700, and a wider mode is corrected at start',
  }),
  databaseUrl: setting({
    env: 'DATABASE_URL',
    fallback: '',
    shownDefault: 'SQLite in DATA_DIR',
    parse: optional(databaseUrl),
    help: 'postgresql://… for production and several processes',
    secret: true,
  }),
  redisUrl: setting({
    env: 'REDIS_URL',
    fallback: '',
    shownDefault: 'such clusters are refused',
    parse: optional(redisUrl),
    help: 'redis://user:password@host:6379, or rediss:// with TLS: over it embedded brokers share sessions and messages in clusters',
    secret: true,
  }),
  embeddedBroker: setting({
    env: 'EMBEDDED_BROKER',
    fallback: 'on',
    parse: flag,
    help: 'Whether brokers run by this service are started, and a first one is made at the first start',
  }),
  mqttHost: setting({
    env: 'MQTT_HOST',
    fallback: '127.0.0.1',
    parse: text,
    help: 'Address that brokers run by this service listen on',
  }),
  mqttPort: setting({
    env: 'MQTT_PORT',
    fallback: '1883',
    parse: port,
    help: 'Port that the first broker is made with, and keeps; 0 takes a free one; taken: the next free one',
  }),
  mqttWsPort: setting({
    env: 'MQTT_WS_PORT',
    fallback: '9001',
    parse: port,
    help: 'The same for MQTT over WebSocket',
  }),
  mqttTlsPort: setting({
    env: 'MQTT_TLS_PORT',
    fallback: '8883',
    parse: orOff(port),
    help: 'The same for MQTT over TLS, which needs a certificate to be deployed; off: no such listener',
  }),
  mqttWssPort: setting({
    env: 'MQTT_WSS_PORT',
    fallback: 'off',
    parse: orOff(port),
    help: 'The same for MQTT over WebSocket with TLS',
  }),
  maxCloudBrokers: setting({
    env: 'MAX_CLOUD_BROKERS',
    fallback: '20',
    parse: integer(1, 1_000),
    help: 'Most brokers that are run by this service',
  }),
  mosquittoBinary: setting({
    env: 'MOSQUITTO_BINARY',
    fallback: '',
    shownDefault: 'mosquitto in PATH or /usr/sbin',
    parse: optional(text),
    help: 'Program that brokers on the engine mosquitto are run with',
  }),
  mosquittoDynsecPlugin: setting({
    env: 'MOSQUITTO_DYNSEC_PLUGIN',
    fallback: '',
    shownDefault: 'looked for beside it',
    parse: optional(absolutePath),
    help: 'Its dynamic security plugin, an absolute path',
  }),
  rootEmail: setting({
    env: 'ROOT_EMAIL',
    fallback: 'admin@localhost',
    parse: email,
    help: 'E-mail address of the first root administrator, used only when there is none',
  }),
  localLogin: setting({
    env: 'LOCAL_LOGIN',
    fallback: 'on',
    parse: flag,
    help: 'off: only the root administrator ROOT_EMAIL signs in with a password of this service, everybody else elsewhere',
  }),
  strictRoles: setting({
    env: 'STRICT_ROLES',
    fallback: 'off',
    parse: flag,
    help: 'Whether strictRoles is on in new projects: what a broker holds is then changed by EDITOR and not by VIEWER',
  }),
  rootPassword: setting({
    env: 'ROOT_PASSWORD',
    fallback: '',
    shownDefault: 'generated, shown once',
    parse: optional(atLeast(8)),
    help: 'Password of the first root administrator',
    secret: true,
  }),
  publicUrl: setting({
    env: 'PUBLIC_URL',
    fallback: '',
    shownDefault: 'http://HOST:PORT',
    parse: optional(webAddress),
    help: 'Address of this service as browsers know it, behind a proxy for example; for single sign-on, and its name is accepted in Host headers',
  }),
  allowedHosts: setting({
    env: 'ALLOWED_HOSTS',
    fallback: '',
    shownDefault: 'PUBLIC_URL, HOST, localhost, the name of this machine and IP addresses',
    parse: hostNames,
    help: 'Comma-separated further names that requests may have in their Host header; *.example.com for all names below it, * for any name',
  }),
  oidcIssuer: setting({
    env: 'OIDC_ISSUER',
    fallback: '',
    shownDefault: 'no OpenID Connect',
    parse: optional(issuer),
    help: 'OpenID provider that people sign in at; https, but for one on this machine',
  }),
  oidcClientId: setting({
    env: 'OIDC_CLIENT_ID',
    fallback: '',
    shownDefault: 'none',
    parse: optional(text),
    help: 'What the provider knows this service by; it must allow PUBLIC_URL/auth/oidc/callback as redirect address',
  }),
  oidcClientSecret: setting({
    env: 'OIDC_CLIENT_SECRET',
    fallback: '',
    shownDefault: 'none',
    parse: optional(text),
    help: 'The secret that goes with it; none: a public client',
    secret: true,
  }),
  oidcScopes: setting({
    env: 'OIDC_SCOPES',
    fallback: 'openid profile email',
    parse: (value) => {
      if (!value.split(' ').includes('openid'))
        throw new BadValue('scopes with spaces between them, openid among them');
      return value;
    },
    help: 'What the provider is asked for; some need offline_access to let people be checked again',
  }),
  oidcGroupsClaim: setting({
    env: 'OIDC_GROUPS_CLAIM',
    fallback: 'groups',
    parse: text,
    help: 'The claim that has a person’s groups',
  }),
  oidcTrustEmail: setting({
    env: 'OIDC_TRUST_EMAIL',
    fallback: 'off',
    parse: flag,
    help: 'E-mail addresses count as verified where the provider does not say whether they are (email_verified)',
  }),
  signInReturnTo: setting({
    env: 'SIGN_IN_RETURN_TO',
    fallback: '',
    shownDefault: 'this service alone',
    parse: webAddresses,
    help: 'Comma-separated addresses, and what is below them, that browsers may go back to after a sign-in',
  }),
  signInCreateUsers: setting({
    env: 'SIGN_IN_CREATE_USERS',
    fallback: 'on',
    parse: flag,
    help: 'Accounts are made for people who sign in elsewhere for the first time',
  }),
  signInCheckMinutes: setting({
    env: 'SIGN_IN_CHECK_MINUTES',
    fallback: '5',
    parse: integer(1, 720),
    help: 'How often people who signed in elsewhere are checked again there while they have sessions, minutes',
  }),
  ldapUrl: setting({
    env: 'LDAP_URL',
    fallback: '',
    shownDefault: 'no directory',
    parse: optional(ldapUrl),
    help: 'Directory that people sign in at with a password: ldaps://… or ldap://…',
  }),
  ldapStartTls: setting({
    env: 'LDAP_START_TLS',
    fallback: 'on',
    parse: flag,
    help: 'TLS is begun on ldap:// before anything is said; off sends passwords as they are',
  }),
  ldapCaFile: setting({
    env: 'LDAP_CA_FILE',
    fallback: '',
    shownDefault: 'those that Node knows',
    parse: optional(absolutePath),
    help: 'PEM file of the authorities that the certificate of the directory may be from',
  }),
  ldapBindDn: setting({
    env: 'LDAP_BIND_DN',
    fallback: '',
    shownDefault: 'searches without a name',
    parse: optional(text),
    help: 'Account that the directory is searched with',
  }),
  ldapBindPassword: setting({
    env: 'LDAP_BIND_PASSWORD',
    fallback: '',
    shownDefault: 'none',
    parse: optional(text),
    help: 'Its password',
    secret: true,
  }),
  ldapUserBase: setting({
    env: 'LDAP_USER_BASE',
    fallback: '',
    shownDefault: 'none',
    parse: optional(text),
    help: 'Where in the directory people are looked for, as ou=people,dc=example,dc=com',
  }),
  ldapUserFilter: setting({
    env: 'LDAP_USER_FILTER',
    fallback: '(mail={login})',
    parse: ldapFilter('{login}'),
    help: 'How a person is found by what was typed; whom it does not find may not sign in, and loses the sessions',
  }),
  ldapGroupBase: setting({
    env: 'LDAP_GROUP_BASE',
    fallback: '',
    shownDefault: 'no groups',
    parse: optional(text),
    help: 'Where in the directory groups are looked for',
  }),
  ldapGroupFilter: setting({
    env: 'LDAP_GROUP_FILTER',
    fallback: '(member={dn})',
    parse: ldapFilter('{'),
    help: 'How the groups of a person are found, by {dn} or {login}',
  }),
  secretKey: setting({
    env: 'SECRET_KEY',
    fallback: '',
    shownDefault: 'generated into DATA_DIR',
    parse: optional(atLeast(32)),
    help: 'Key that stored secrets are sealed with; at least 32 characters, the same for all processes',
    secret: true,
  }),
  brokerTimeoutMs: setting({
    env: 'BROKER_TIMEOUT_MS',
    fallback: '5000',
    parse: integer(100, 600_000),
    help: 'Longest wait for the answer of one broker, milliseconds',
  }),
  maxBrokerLinks: setting({
    env: 'MAX_BROKER_LINKS',
    fallback: '1000',
    parse: integer(1, 100_000),
    help: 'Most brokers that are connected to at once',
  }),
  maxBrokersPerProject: setting({
    env: 'MAX_BROKERS_PER_PROJECT',
    fallback: '1000',
    parse: integer(1, 100_000),
    help: 'Most brokers of one project',
  }),
  maxProjectsPerUser: setting({
    env: 'MAX_PROJECTS_PER_USER',
    fallback: '100',
    parse: integer(1, 100_000),
    help: 'Most projects that a person can make, those of own organisations among them, and most organisations; root administrators make any number',
  }),
  brokerFilesDir: setting({
    env: 'BROKER_FILES_DIR',
    fallback: '',
    shownDefault: 'files are refused',
    parse: optional(absolutePath),
    help: 'Folder below which broker settings may name certificate and key files',
  }),
  brokerAllowedHosts: setting({
    env: 'BROKER_ALLOWED_HOSTS',
    fallback: '',
    shownDefault: 'any host',
    parse: hosts,
    help: 'Comma-separated names, addresses and networks (10.0.0.0/8) that brokers and bridges may be connected to; answers of DNS, too',
  }),
  maxBodyBytes: setting({
    env: 'MAX_BODY_BYTES',
    fallback: '1000000',
    parse: integer(1_000, 100_000_000),
    help: 'Largest request body, bytes',
  }),
  maxConnections: setting({
    env: 'MAX_CONNECTIONS',
    fallback: '10000',
    parse: integer(1, 1_000_000),
    help: 'Most connections to HTTP at once, WebSockets and event streams among them; more are closed as they come',
  }),
  metricsToken: setting({
    env: 'METRICS_TOKEN',
    fallback: '',
    shownDefault: 'only callers on this machine read /metrics',
    parse: optional(atLeast(16)),
    help: 'Bearer token that /metrics requires, at least 16 characters; tokens of root administrators are accepted, too',
    secret: true,
  }),
  metricsHost: setting({
    env: 'METRICS_HOST',
    fallback: '',
    shownDefault: 'HOST and PORT serve /metrics',
    parse: optional(listenAddress),
    help: 'Address and port, as 10.0.0.5:9100, of a listener of its own for /metrics, which needs no token unless METRICS_TOKEN is set',
  }),
  streamStorageMaxMb: setting({
    env: 'STREAM_STORAGE_MAX_MB',
    fallback: '10240',
    parse: integer(1, 1_000_000_000),
    help: 'Most that messages of streams take on disk for one broker, MB of 1,048,576 bytes; beyond it none are stored',
  }),
  topicTreeMaxMb: setting({
    env: 'TOPIC_TREE_MAX_MB',
    fallback: '512',
    parse: integer(1, 1_000_000),
    help: 'Most that recorded topics of one broker take in memory, MB of 1,048,576 bytes; beyond it topics are left out',
  }),
  maxQueryCost: setting({
    env: 'MAX_QUERY_COST',
    fallback: '50000',
    parse: integer(100, 10_000_000),
    help: 'Most that one GraphQL document may cost (fields, multiplied by the lists they are in)',
  }),
  maxQueryDepth: setting({
    env: 'MAX_QUERY_DEPTH',
    fallback: '15',
    parse: integer(5, 100),
    help: 'Deepest nesting of a GraphQL document',
  }),
  queryPreparationMs: setting({
    env: 'QUERY_PREPARATION_MS',
    fallback: '250',
    parse: integer(10, 1_000_000),
    help: 'Milliseconds in each second that one caller may spend on parsing, validating and compiling new GraphQL documents; 20 seconds of it at once',
  }),
  introspection: setting({
    env: 'INTROSPECTION',
    fallback: 'signed-in',
    parse: oneOf('signed-in', 'always'),
    help: 'Who may read the GraphQL schema: signed-in or always',
  }),
  corsOrigins: setting({
    env: 'CORS_ORIGINS',
    fallback: '',
    shownDefault: 'none',
    parse: origins,
    help: 'Comma-separated origins of web pages that may call this service',
  }),
  tokenInQuery: setting({
    env: 'TOKEN_IN_QUERY',
    fallback: 'off',
    parse: flag,
    help: 'Accept ?token=… beside the Authorization header (it ends up in access logs)',
  }),
  trustProxy: setting({
    env: 'TRUST_PROXY',
    fallback: 'off',
    parse: flag,
    help: 'Take the address of callers from X-Forwarded-For (only behind a proxy that sets it)',
  }),
  auditRetentionDays: setting({
    env: 'AUDIT_RETENTION_DAYS',
    fallback: '365',
    parse: integer(0, 36_500),
    help: 'Days that entries of the audit are kept; 0: for ever',
  }),
  logLevel: setting({
    env: 'LOG_LEVEL',
    fallback: 'info',
    parse: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    help: 'fatal, error, warn, info, debug, trace or silent',
  }),
  logFormat: setting({
    env: 'LOG_FORMAT',
    fallback: '',
    shownDefault: 'pretty on a terminal, else json',
    parse: optional(oneOf('pretty', 'json')),
    help: 'pretty or json',
  }),
} as const;
