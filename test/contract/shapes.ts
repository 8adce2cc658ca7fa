/**
 * Parameters, bodies and results of the documented interface, by method and path. Each key is `name:types`: s string,
 * i integer, n number, b boolean, o object, a array, 0 null, * any. `name:(…)` is an object with these keys, `name:[…]`
 * an array of such objects. `=a|b` after types: all values. `!` after a name: the key is required. `{closed}`: no other
 * keys.
 */
interface Shape {
  readonly query?: string;
  readonly body?: string;
  /** Of the body, or of each of its entries if it is a list. */
  readonly result?: string;
}

const PROJECT = '/api/projects/{projectId}';
const BROKER = `${PROJECT}/brokers/{brokerId}`;

const PEM_FIELDS = 'ca_cert:s0 ca_cert_file:s0 client_cert:s0 client_cert_file:s0 client_key:s0 client_key_file:s0';
const CONNECTION = `name:s description:s0 url:s username:s0 password:s0 ${PEM_FIELDS} verify_ca_cert:b metricsEnabled:b ha:b clustermode:s0=full|dynsec|hp`;
const LICENSE = 'plan!:s edition!:s issuedBy!:s issuedTo!:s validSince!:n validUntil!:n features!:a {closed}';
const CERTIFICATE = 'name:s filename:s cert:s';
const DEPLOYMENT = 'brokers:[brokerId!:s listeners!:[port!:i bindAddress:s {closed}] {closed}]';
const DEPLOYED = 'brokerId:s error:s succeed:[port!:i bindAddress:s] failed:[port!:i bindAddress:s error!:s]';
const FILES = 'username:s client_cert_file:s client_key_file:s ca_cert_file:s';
const NODE = `broker_id!:s url!:s nodeid!:n name!:s address!:s port!:n password:s client_cert:s client_key:s ca_cert:s ${FILES} {closed}`;
const JOINED = `broker_id:s url:s nodeid:n name:s address:s port:n ${FILES}`;
const PAGE = 'offset:i count:i verbose:b';
const STREAM_TEXTS = 'targetqos:n=-1|0|1|2 ttl:n key:s query:o textname:s textdescription:s';
const CLIENT =
  'username:s password:s0 clientid:s0 textname:s0 textdescription:s0 groups:[groupname!:s]0 roles:[rolename!:s]';
const GROUP = 'groupname:s textname:s textdescription:s';
const ACL = 'acltype!:s=publishClientSend|publishClientReceive|subscribe|unsubscribe allow!:b {closed}';
const SUMMARY =
  'username:s clientid:s address:s protocol:s=MQTT|MQTT-SN|MQTT-WS protocolVersion:s=v3.1|v3.1.1|v5 connected:b lastConnect:i lastDisconnect:i0';
const QUEUES = 'bytesOut:i bytesMax:i messagesOut:i pagedMessagesOut:i pagedMessagesMax:i messagesMax:i';
const DETAIL_COUNTS =
  'numSubscriptions:i numPublished:i numSubscribed:i numDropped:i bytesPublished:i bytesSubscribed:i keepalive:i cleanSession:b';
const WILL = 'topic:s qos:i retain:b payload:s properties:[identifier!:s name:s value!:s] delayInterval:i';
const INFLIGHT =
  'bytesIn:i bytesOut:i bytesMax:i messagesIn:i messagesInMax:i messagesOut:i messagesOutMax:i messagesMax:i';
const USER =
  'id:s name:s email:s created_at:s trial_flow:b project_count:n broker_count:n monthly_revenue:n yearly_revenue:n total_revenue:n onboarding:n bookings:*';
const OWNER = 'userId:s organizationId:s';

export const SHAPES: Readonly<Record<string, Shape>> = {
  'GET /api/projects': {
    result: 'id:s name:s description:s owner:(userId:s organizationId:s name!:s {closed}) role:s=admin|editor|viewer',
  },
  [`GET ${PROJECT}/settings`]: {
    result: `project:(id!:s user_id!:s0 name!:s description!:s owner!:(${OWNER}) {closed}) owner:(${OWNER}) services:a`,
  },
  [`POST ${PROJECT}/brokers`]: { body: CONNECTION },
  [`PUT ${BROKER}`]: { body: CONNECTION },
  [`GET ${BROKER}/bridges`]: { result: 'id:s isActive:b' },
  [`GET ${BROKER}/info`]: {
    result: `id:s url:s name:s project_id:s sysTopics:(topics!:o date!:n) sysTopicsHistory:[topics!:o date!:n] isConnected:b licenseInfo:(${LICENSE})`,
  },
  [`GET ${PROJECT}/certificates`]: {
    query: 'brokerId:s filename:s',
    result: 'id:s name:s filename:s brokers:[id!:s name:s ha:b {closed}]',
  },
  [`POST ${PROJECT}/certificates`]: { body: CERTIFICATE },
  [`PUT ${PROJECT}/certificates/{certificateId}`]: { body: CERTIFICATE },
  [`POST ${PROJECT}/certificates/{certificateId}/deploy`]: { body: DEPLOYMENT, result: DEPLOYED },
  [`POST ${PROJECT}/certificates/{certificateId}/undeploy`]: { body: DEPLOYMENT, result: DEPLOYED },
  [`POST ${PROJECT}/clusters`]: {
    body: `clustername:s nodes:[${NODE}] syncmode:s=full|dynsec|hp`,
    // Without `password` and `client_key`, which are never returned.
    result:
      'url:s username:s client_cert_file:s client_cert:s client_key_file:s ca_cert_file:s ca_cert:s verify_ca_cert:n=0|1 id:s',
  },
  [`DELETE ${PROJECT}/clusters`]: { query: 'purge:b' },
  [`DELETE ${PROJECT}/clusters/{clusterId}`]: { query: 'clustername:s purge:b' },
  [`PUT ${PROJECT}/clusters/{clusterId}/join`]: { body: JOINED },
  [`PUT ${PROJECT}/clusters/{clusterId}/leave`]: { body: JOINED },
  [`GET ${BROKER}/streams`]: {
    query: PAGE,
    result:
      'streamname:s sourcetopic:s targettopic:s textname:s textdescription:s targetqos:n ttl:n active:b process:b persist:b replaying:b query:o',
  },
  [`POST ${BROKER}/streams`]: { body: `streamname:s sourceTopic:s targetTopic:s ${STREAM_TEXTS}` },
  [`PUT ${BROKER}/streams`]: {
    body: `streamname:s sourcetopic:s targettopic:s ${STREAM_TEXTS} replace:b persist:b active:b process:b`,
  },
  [`DELETE ${BROKER}/streams`]: { query: 'streamname:s' },
  [`DELETE ${BROKER}/streams/messages`]: { query: 'streamname:s' },
  [`PUT ${BROKER}/streams/replay`]: {
    body: 'streamname:s replayTopic:s gte:s lte:s reverse:b limit:n speed:n',
  },
  [`PUT ${BROKER}/client-control/disconnect`]: { body: 'clientid:s', result: '' },
  [`PUT ${BROKER}/client-control/subscribe`]: {
    body: 'clientid:s topic:s qos:n=0|1|2 options:(no_local:b retain_as_published:b send_retain:s=always|new|never|null)',
  },
  [`PUT ${BROKER}/client-control/unsubscribe`]: { body: 'clientid:s topic:s' },
  [`GET ${BROKER}/acldefault`]: { result: 'acls:a' },
  [`PUT ${BROKER}/acldefault`]: { body: `[${ACL}]` },
  [`GET ${BROKER}/clients`]: {
    query: `${PAGE} username:s filterValue:s filterMode:s filterTarget:s`,
    result:
      'username:s clientid:s textname:s textdescription:s roles:[rolename:s] groups:[groupname:s] connections:[address:s]',
  },
  [`POST ${BROKER}/clients`]: { body: CLIENT },
  [`PUT ${BROKER}/clients`]: { body: CLIENT },
  [`DELETE ${BROKER}/clients`]: { query: 'username:s' },
  [`PUT ${BROKER}/clients/enable`]: { body: 'username:s enable:b' },
  [`GET ${BROKER}/groups`]: {
    query: `${PAGE} filterValue:s filterMode:s filterTarget:s`,
    result: `${GROUP} clients:[username:s] roles:[rolename:s]`,
  },
  [`POST ${BROKER}/groups`]: { body: GROUP },
  [`PUT ${BROKER}/groups`]: { body: `${GROUP} clients:[username:s]0 roles:[rolename:s]0` },
  [`GET ${BROKER}/client-inspect`]: {
    query: `${PAGE} filterValue:s filterMode:s`,
    result: `${SUMMARY} queues:(${QUEUES} {closed})`,
  },
  [`GET ${BROKER}/client-inspect/detail`]: {
    query: 'clientid:s',
    result: `${SUMMARY} ${DETAIL_COUNTS} tls:(clientCertificate:s version:s ciphers:s) listener:(port:i bind_address:s) will:(${WILL}) subscriptions:a queues:(bytesIn:i messagesIn:i messagesInQos12:i messagesOutQos12:i ${QUEUES}) inflight:(${INFLIGHT})`,
  },
  [`GET ${BROKER}/topictree`]: {
    query: 'offset:i count:i nodeid:i',
    result: 'publishTopics:(count:i topics:a) subscribeTopics:(count:i topics:a)',
  },
  [`GET ${BROKER}/topictree/ttl`]: { query: 'nodeid:i', result: 'ttl_sec:i ttls:a' },
  [`PUT ${BROKER}/topictree/ttl`]: { query: 'nodeid:i', body: 'ttl_sec:i' },
  [`POST ${PROJECT}/tokens`]: {
    body: 'name:s role:s=admin|editor|viewer brokers:a type:s=restricted|unrestricted valid_date:s',
    result:
      'id:s project_id:s issuer:s name:s hash:s role_id:s=admin|editor|root|viewer issue_date:n valid_date:n last_used_date:n brokers:a type:s=restricted|unrestricted token:s',
  },
  'GET /api/users/admins': { query: 'page:i pageSize:i', result: 'total:n roots:[id:s name:s email:s isRemovable:b]' },
  'PUT /api/users/admins': { query: 'email:s' },
  'DELETE /api/users/admins': { query: 'email:s' },
  'GET /api/users': {
    query: 'page:i pageSize:i',
    result: `total:n page:n pageSize:n sortField:s sortOrder:s data:[${USER}]`,
  },
  'POST /api/users': { body: 'firstname:s lastname:s email:s password:s verified:b ssoType:s=ldap|sso' },
  'GET /api/users/{userId}': { result: USER },
};

const COMMON = 'id!:s name!:s project_id!:s ha!:b created_at!:s updated_at!:s';
const PRODUCT =
  'canceled_at:s0 issued_to!:s product_id!:s payment_subscription_item_id:s0 period_start!:s period_end:s0';
const REACHED = 'url!:s verify_ca_cert!:b';
const CLOUD = 'options!:s subdomain!:s zone_name!:s deployed_at:s0 shutdown_at:s0 location!:s=fsn1|nbg1|hel1|ash|hil';
const STATES =
  'state!:s=active|inactive|new|provisioning|updating|error|stopping_payment|payment_stopped|shutting_down target_state!:s=active|inactive';

/** Services in the settings of a project, by the value of `type`. */
export const SERVICES: Readonly<Record<string, string>> = {
  cloud: `type!:s ${COMMON} ${PRODUCT} ${REACHED} ${CLOUD} ${STATES} {closed}`,
  'self-hosted': `type!:s ${COMMON} ${REACHED} {closed}`,
  'on-premise-setup': `type!:s ${COMMON} ${PRODUCT} {closed}`,
};
