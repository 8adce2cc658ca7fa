import { BROKER_TYPES, CLOUD_BROKER_STATES, CLOUD_BROKER_TARGET_STATES } from '../brokers/broker-bodies.ts';

/** Selections whose aliases are the documented keys of the three kinds of brokers, as project settings show them. */
const COMMON = 'type id name project_id: projectId ha created_at: createdAt updated_at: updatedAt';
const CONNECTION = 'url verify_ca_cert: verifyCaCert';
const PRODUCT =
  'canceled_at: canceledAt issued_to: issuedTo product_id: productId payment_subscription_item_id: paymentSubscriptionItemId period_start: periodStart period_end: periodEnd';

export const SELF_HOSTED_FIELDS = `${COMMON} ${CONNECTION}`;
export const ON_PREMISE_FIELDS = `${COMMON} ${PRODUCT}`;
export const CLOUD_FIELDS = `${COMMON} ${CONNECTION} ${PRODUCT} options subdomain zone_name: zoneName deployed_at: deployedAt shutdown_at: shutdownAt location state target_state: targetState`;

/** Documented spelling of the enums in these selections. */
export const BROKER_SPELLING = {
  BrokerType: BROKER_TYPES,
  CloudBrokerState: CLOUD_BROKER_STATES,
  CloudBrokerTargetState: CLOUD_BROKER_TARGET_STATES,
} as const;
