import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, NULLABLE_STRING, STRING } from '../../gateway/rest/schemas.ts';

const BROKER_TYPES = {
  CLOUD: 'cloud',
  SELF_HOSTED: 'self-hosted',
  ON_PREMISE_SETUP: 'on-premise-setup',
} as const;
const CLOUD_BROKER_STATES = {
  ACTIVE: 'active',
  INACTIVE: 'inactive',
  NEW: 'new',
  PROVISIONING: 'provisioning',
  UPDATING: 'updating',
  ERROR: 'error',
  SHUTTING_DOWN: 'shutting_down',
} as const;
/** Documented states that no broker of this service reaches, because it has no sales. */
const STATES_OF_SALES = ['stopping_payment', 'payment_stopped'];
const DOCUMENTED_STATES = Object.values<string>(CLOUD_BROKER_STATES).toSpliced(-1, 0, ...STATES_OF_SALES);
const CLOUD_BROKER_TARGET_STATES = { ACTIVE: 'active', INACTIVE: 'inactive' } as const;

/** Selections of the three broker types. Their aliases are the documented keys of a service object. */
const COMMON_FIELDS = 'type id name project_id: projectId ha: isCluster created_at: createdAt updated_at: updatedAt';
const CONNECTION_FIELDS = 'url verify_ca_cert: verifyCaCert';
const PRODUCT_FIELDS =
  'canceled_at: canceledAt issued_to: issuedTo product_id: productId payment_subscription_item_id: paymentSubscriptionItemId period_start: periodStart period_end: periodEnd';

export const SELF_HOSTED_FIELDS = `${COMMON_FIELDS} ${CONNECTION_FIELDS}`;
export const ON_PREMISE_FIELDS = `${COMMON_FIELDS} ${PRODUCT_FIELDS}`;
export const CLOUD_FIELDS = `${COMMON_FIELDS} ${CONNECTION_FIELDS} ${PRODUCT_FIELDS} options subdomain zone_name: zoneName deployed_at: deployedAt shutdown_at: shutdownAt location state target_state: targetState`;

export const BROKER_SPELLING = {
  BrokerType: BROKER_TYPES,
  CloudBrokerState: CLOUD_BROKER_STATES,
  CloudBrokerTargetState: CLOUD_BROKER_TARGET_STATES,
} as const;

export type Properties = Readonly<Record<string, JsonSchema>>;

const COMMON: Properties = {
  id: STRING,
  name: STRING,
  project_id: STRING,
  ha: BOOLEAN,
  created_at: STRING,
  updated_at: STRING,
};

const PRODUCT: Properties = {
  canceled_at: NULLABLE_STRING,
  issued_to: STRING,
  product_id: STRING,
  payment_subscription_item_id: NULLABLE_STRING,
  period_start: STRING,
  period_end: NULLABLE_STRING,
};

const OPTIONAL = ['canceled_at', 'payment_subscription_item_id', 'period_end', 'deployed_at', 'shutdown_at'];

/** The service object of one type. Properties that the interface document marks optional are not required. */
export const serviceOfType = (title: string, type: string, properties: Properties): JsonSchema => {
  const all = { type: { type: 'string', const: type }, ...properties };
  return closed(all, { required: Object.keys(all).filter((key) => !OPTIONAL.includes(key)), title });
};

export const CLOUD: Properties = {
  ...COMMON,
  url: STRING,
  verify_ca_cert: BOOLEAN,
  ...PRODUCT,
  options: STRING,
  subdomain: STRING,
  zone_name: STRING,
  deployed_at: NULLABLE_STRING,
  shutdown_at: NULLABLE_STRING,
  location: { type: 'string', enum: ['fsn1', 'nbg1', 'hel1', 'ash', 'hil'] },
  state: { type: 'string', enum: DOCUMENTED_STATES },
  target_state: { type: 'string', enum: Object.values(CLOUD_BROKER_TARGET_STATES) },
};
export const SELF_HOSTED: Properties = { ...COMMON, url: STRING, verify_ca_cert: BOOLEAN };
export const ON_PREMISE_SETUP: Properties = { ...COMMON, ...PRODUCT };

export const BROKER_SERVICE: JsonSchema = {
  title: 'BrokerService',
  oneOf: [
    serviceOfType('CloudBrokerService', 'cloud', CLOUD),
    serviceOfType('SelfHostedBrokerService', 'self-hosted', SELF_HOSTED),
    serviceOfType('OnPremiseSetupService', 'on-premise-setup', ON_PREMISE_SETUP),
  ],
};
